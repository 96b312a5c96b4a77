import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Clock } from "../../base/clock.ts";
import { callerOf } from "./caller.ts";
import { CallerBudget, YOUNG_STREAM_MS } from "./caller-budget.ts";
import { type ConnectionLimits, OpenConnections, type TrackedConnection } from "./open-connections.ts";
import type { Peer } from "./peer.ts";

export interface CallerConnectionsDeps {
  readonly clock: Clock;
  /** True if a rule assigns the peer a role. If none does, its calls may prove a role later; see `promote`. */
  readonly hasRole: (peer: Peer) => boolean;
  /** Called when a connection was cut for a newer one, or refused for lack of room. */
  readonly onCut: () => void;
}

/** Streams that this side refused, which must not count against the caller. */
const refused = new WeakSet<ServerHttp2Stream>();

/** Resets a stream unanswered, without counting it against its caller. */
export function refuseStream(stream: ServerHttp2Stream, code: number): void {
  refused.add(stream);
  stream.close(code);
}

/**
 * Keeps HTTP/2 sessions and HTTP/1.1 sockets within `OpenConnections`, and their callers' resets and refusals within a
 * `CallerBudget`.
 */
export class CallerConnections {
  readonly #deps: CallerConnectionsDeps;
  readonly #open: OpenConnections;
  readonly #resets: CallerBudget;
  readonly #refusals: CallerBudget;
  readonly #byPeer = new WeakMap<Peer, TrackedConnection>();
  /** Connections with an admitted call. */
  readonly #proven = new WeakSet<TrackedConnection>();

  constructor(deps: CallerConnectionsDeps, limits: ConnectionLimits) {
    this.#deps = deps;
    this.#open = new OpenConnections(deps.clock, limits, deps.onCut);
    this.#resets = new CallerBudget(deps.clock);
    this.#refusals = new CallerBudget(deps.clock);
  }

  addSession(session: ServerHttp2Session, peer: Peer): void {
    const tracked = this.#add(session, peer, () => session.close());
    if (tracked === undefined) return;
    session.on("stream", (stream: ServerHttp2Stream) => {
      if (peer.type === "certificate" && this.#isSpent(tracked)) {
        this.#cut(tracked);
        return;
      }
      const openedAt = this.#deps.clock.monotonicMs();
      tracked.begin();
      stream.once("close", () => {
        tracked.end();
        const isYoung = this.#deps.clock.monotonicMs() - openedAt < YOUNG_STREAM_MS;
        if (!isYoung || stream.rstCode === constants.NGHTTP2_NO_ERROR || refused.has(stream)) return;
        if (session.destroyed || this.#resets.take(tracked.connection.share)) return;
        session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
      });
    });
  }

  addSocket(socket: Socket, peer: Peer): void {
    this.#add(socket, peer, () => socket.destroy());
  }

  /** An HTTP/1.1 request has arrived; `answer` closes when it has been answered. */
  request(peer: Peer, answer: { once(event: "close", listener: () => void): unknown }): void {
    const tracked = this.#byPeer.get(peer);
    tracked?.begin();
    answer.once("close", () => tracked?.end());
  }

  /** Counts a call of this peer with invalid credentials; after too many of them, its connection is cut. */
  refused(peer: Peer): void {
    const tracked = this.#byPeer.get(peer);
    if (tracked !== undefined && !this.#refusals.take(tracked.connection.share)) this.#cut(tracked);
  }

  /** Gives the peer a role, because a call that needs one was admitted. */
  promote(peer: Peer): void {
    const tracked = this.#byPeer.get(peer);
    if (tracked === undefined) return;
    this.#proven.add(tracked);
    this.#open.promote(tracked);
  }

  /**
   * True if the caller was refused too often recently and no call on this connection has been admitted yet. All calls
   * of a batch begin before the first is refused, and each would cost a check of its credentials.
   */
  #isSpent(tracked: TrackedConnection): boolean {
    return !this.#proven.has(tracked) && !this.#refusals.has(tracked.connection.share);
  }

  #cut({ connection }: TrackedConnection): void {
    this.#deps.onCut();
    connection.destroy();
  }

  #add(connection: ServerHttp2Session | Socket, peer: Peer, close: () => void): TrackedConnection | undefined {
    const { share } = callerOf(peer, undefined, false);
    const destroy = () => connection.destroy();
    const tracked = this.#open.add({ share, hasRole: this.#deps.hasRole(peer), close, destroy });
    if (tracked === undefined) return undefined;
    this.#byPeer.set(peer, tracked);
    connection.once("close", () => this.#open.remove(tracked));
    return tracked;
  }
}
