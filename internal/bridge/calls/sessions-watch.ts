import { create, fromBinary } from "@bufbuild/protobuf";
import { firstOf } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import {
  SidecarOutputUpdateSchema,
  SidecarService,
  SidecarStatusRequestSchema,
  type SidecarStatusResponse,
  SidecarWatchRequestSchema,
  WatchMode,
} from "../../gen/gastown/v1/sidecar_pb.ts";
import type { NudgeReceipt } from "../../session/types.ts";
import type { Actor, SessionBackend, SessionChange, SessionInfo, SessionTerminal } from "../session-backend.ts";
import { activityStatus } from "./activity-status.ts";
import { type DueUpdate, type TakenUpdate, UpdateQueue } from "./update-queue.ts";

export interface SessionsWatchRequest {
  readonly project: string;
  /** A session is shown only if it has all these labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** Lines of each screen; 0: no screens. */
  readonly lines: number;
  readonly caller: Actor;
}

/** One session as an overview shows it. */
export interface WatchedSession {
  readonly session: SessionInfo;
  /** Absent: the session is not running, or its sidecar does not answer now. */
  readonly status?: SidecarStatusResponse | undefined;
  /** The last receipt since the watch began. */
  readonly receipt?: NudgeReceipt | undefined;
  readonly screen: readonly string[];
  readonly isGone: boolean;
}

/** State of a session that is shown in addition to the session itself. */
interface Seen {
  receipt?: NudgeReceipt;
  screen: readonly string[];
  /** Stops following the screen; undefined: the screen is not followed. */
  following?: AbortController;
}

const { status: statusMethod, watchOutput } = SidecarService.method;
/** The status of a sidecar that has not answered within this time is omitted. */
const STATUS_MS = 2000;
/** The most sidecars that are asked concurrently for one reader. */
const LOOKS = 16;
const SCREEN_INTERVAL_MS = 1000;
/** The largest update that is shown, enough for the requested lines at their longest. */
const MAX_SCREEN_BYTES = 256 * 1024;

/**
 * One reader's view of a project's sessions. Holds at most one pending update per session, however slow the reader is.
 */
export class SessionsWatch {
  readonly #clock: Clock;
  readonly #backend: SessionBackend;
  readonly #request: SessionsWatchRequest;
  readonly #queue = new UpdateQueue<SessionChange>();
  readonly #woken = new SignalBus();
  readonly #seen = new Map<string, Seen>();
  /** Sessions whose sidecars are being asked. */
  readonly #looking = new Set<string>();
  /** Results in the order in which they became known: the state of a session, or a rejection. */
  readonly #looked: { readonly taken: TakenUpdate<SessionChange>; readonly value: Promise<WatchedSession> }[] = [];
  /** The error that ended the stream of changes. */
  #failure: unknown;

  constructor(deps: { readonly clock: Clock; readonly backend: SessionBackend }, request: SessionsWatchRequest) {
    this.#clock = deps.clock;
    this.#backend = deps.backend;
    this.#request = request;
  }

  /** Yields updates until the signal is aborted, then fails with the signal's reason. To be called once. */
  async *updates(signal: AbortSignal): AsyncGenerator<DueUpdate<WatchedSession>, void> {
    const stop = new AbortController();
    const stopped = AbortSignal.any([signal, stop.signal]);
    try {
      void this.#read(stopped);
      for (const session of this.#backend.list(this.#request.project)) this.#changed({ type: "changed", session });
      for (;;) {
        this.#lookAtDue(stopped);
        const looked = this.#looked.shift();
        if (looked !== undefined) yield this.#queue.give(looked.taken, await looked.value);
        else if (this.#failure !== undefined && this.#looking.size === 0) throw this.#failure;
        else await this.#woken.next(stopped);
      }
    } finally {
      stop.abort();
    }
  }

  /**
   * Asks the sidecars of changed sessions, a few at a time, so that a sidecar that does not answer does not delay the
   * others.
   */
  #lookAtDue(signal: AbortSignal): void {
    while (this.#looking.size < LOOKS && this.#looked.length < LOOKS) {
      const taken = this.#queue.take(this.#looking);
      if (taken === undefined) return;
      this.#looking.add(taken.key);
      const value = this.#look(taken.value, signal);
      const done = () => {
        this.#looking.delete(taken.key);
        this.#looked.push({ taken, value });
        this.#woken.notify();
      };
      value.then(done, done);
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    try {
      for await (const change of this.#backend.changes(this.#request.project, signal)) this.#changed(change);
      this.#failure = new DomainError("unavailable", "the sessions are no longer watched");
    } catch (err) {
      this.#failure = err;
    }
    this.#woken.notify();
  }

  #changed(change: SessionChange): void {
    const { session } = change;
    // A session that is gone may have lost its labels: report its end if the reader knows the session.
    if (change.type === "gone" ? !this.#seen.has(session.id) : !this.#hasLabels(session)) return;
    const seen = this.#seen.get(session.id) ?? { screen: [] };
    this.#seen.set(session.id, seen);
    if (change.type === "changed" && change.receipt !== undefined) seen.receipt = change.receipt;
    this.#put(change);
  }

  #hasLabels(session: SessionInfo): boolean {
    const labels = this.#backend.labelsOf(session);
    return Object.entries(this.#request.labels).every(([name, value]) => labels[name] === value);
  }

  #put(change: SessionChange): void {
    this.#queue.put(change.session.id, change);
    this.#woken.notify();
  }

  async #look(change: SessionChange, signal: AbortSignal): Promise<WatchedSession> {
    const { project, id } = change.session;
    const seen: Seen = this.#seen.get(id) ?? { screen: [] };
    if (change.type === "gone") {
      seen.following?.abort();
      this.#seen.delete(id);
      return { session: change.session, screen: [], isGone: true };
    }
    const session = this.#backend.get({ project, id }) ?? change.session;
    const terminal = this.#terminalOf(session);
    if (terminal !== undefined && this.#request.lines > 0 && seen.following === undefined)
      void this.#followScreen(session, terminal, seen, signal);
    const status =
      terminal === undefined ? activityStatus(session, this.#clock.now()) : await this.#statusOf(terminal, signal);
    const { receipt, screen } = seen;
    return { session, screen, isGone: false, status, receipt };
  }

  #terminalOf(session: SessionInfo): SessionTerminal | undefined {
    try {
      return session.status === "running" ? this.#backend.terminal(session) : undefined;
    } catch (err) {
      if (err instanceof DomainError) return undefined;
      throw err;
    }
  }

  async #statusOf(terminal: SessionTerminal, signal: AbortSignal): Promise<SidecarStatusResponse | undefined> {
    const { caller } = this.#request;
    const asked = (stop: AbortSignal) => terminal.unary(statusMethod, create(SidecarStatusRequestSchema), caller, stop);
    const late = (stop: AbortSignal) => this.#clock.sleep(STATUS_MS, stop).then(() => undefined);
    try {
      return await firstOf(signal, asked, late);
    } catch {
      signal.throwIfAborted();
      return undefined; // no status now; if the session is ending, its next change says so
    }
  }

  /** Runs until it fails or the session ends; the session's next change starts it again. */
  async #followScreen(session: SessionInfo, terminal: SessionTerminal, seen: Seen, signal: AbortSignal): Promise<void> {
    const following = new AbortController();
    seen.following = following;
    const { lines, caller } = this.#request;
    const request = create(SidecarWatchRequestSchema, {
      ...{ lines, intervalMs: SCREEN_INTERVAL_MS },
      mode: WatchMode.SCREEN,
    });
    const stopped = AbortSignal.any([signal, following.signal]);
    try {
      for await (const bytes of terminal.stream(watchOutput, request, caller, stopped)) {
        if (bytes.length > MAX_SCREEN_BYTES) continue;
        const { output } = fromBinary(SidecarOutputUpdateSchema, bytes, { readUnknownFields: false });
        const screen = output.replace(/\n$/, "").split("\n").slice(-lines);
        if (screen.join("\n") === seen.screen.join("\n")) continue;
        seen.screen = screen;
        this.#put({ type: "changed", session });
      }
    } catch {
      // the session's own changes report its end
    } finally {
      delete seen.following;
    }
  }
}
