import { randomUUID } from "node:crypto";
import type { Msg } from "@nats-io/transport-node";
import { errorText } from "../../base/errors.ts";
import { runTasks, type Task } from "../../base/task-group.ts";
import type { Dialect } from "../acp/dialect.ts";
import { keepSubscribed } from "../nats/keep-subscribed.ts";
import { type LaneName, laneKey, laneOfSubject, subjects } from "../nats/subjects.ts";
import type { LaneDeps } from "./lane-deps.ts";
import type { Lanes } from "./lanes.ts";
import type { LaneLink } from "./link.ts";
import { LaneHeld } from "./registry.ts";

/** A link that the relay itself has opened. */
export interface OwnLink extends LaneLink {
  /** Monotonic ms when its last work ended; undefined: it has work. */
  readonly restingSinceMs: number | undefined;
  /** Resolves when no process of its agent is running. */
  ended(): Promise<void>;
}

/** A role that the relay serves by itself, without agents that dial in. */
export interface ServedRole {
  readonly role: string;
  readonly dialect: Dialect;
  /** The most lanes that are served concurrently. */
  readonly most: number;
  open(lane: LaneName, names: { readonly agentId: string; readonly connectionId: string }): OwnLink;
}

interface Served {
  readonly role: ServedRole;
  /** Undefined: the lane is being claimed. */
  link: OwnLink | undefined;
}

type ServedDeps = Pick<LaneDeps, "bus" | "clock" | "logger" | "instance">;

const SWEEP_MS = 10_000;
/** The interval while a role is at its limit and more work waits. */
const SHORT_SWEEP_MS = 1000;
const AGAIN_MS = 500;

/**
 * Serves the lanes of some roles while they have work. A queue subscription reports published work to one of the relays
 * that serve the role; a sweep of the stream finds the rest, every ten seconds, when a lane ends and when NATS is back.
 */
export class ServedRoles implements Task {
  readonly #deps: ServedDeps;
  readonly #lanes: Lanes;
  readonly #roles: readonly ServedRole[];
  readonly #serving = new Map<string, Served>();
  readonly #running = new Set<Promise<void>>();
  #sweepNow = new AbortController();
  #isShort = false;
  /** Aborted to end the long pause. */
  #shortage = new AbortController();

  constructor(deps: ServedDeps, lanes: Lanes, roles: readonly ServedRole[]) {
    this.#deps = deps;
    this.#lanes = lanes;
    this.#roles = roles;
  }

  /**
   * Takes lanes until the signal. Lanes that are being served then go on, see `idle`.
   * @throws DomainError `denied` if NATS refuses a subscription
   */
  async run(signal: AbortSignal): Promise<void> {
    const { bus } = this.#deps;
    const subscriptions = this.#roles.map((role) => ({
      subject: subjects.work({ sessionId: "*", role: role.role }),
      queue: `relay-${bus.streams.work}`,
      onMessage: ({ subject }: Msg) => this.#offer(role, laneOfSubject(subject), signal),
    }));
    const unlisten = bus.changes.listen(() => this.#sweepNow.abort());
    const sweeps = async (stop: AbortSignal) => {
      while (!stop.aborted) await this.#sweep(stop);
    };
    try {
      const keeping = subscriptions.map((each) => ({
        run: (stop: AbortSignal) => keepSubscribed(this.#deps, each, stop),
      }));
      await runTasks(signal, [{ run: sweeps }, ...keeping]);
    } finally {
      unlisten();
    }
  }

  /** Resolves when no lane is being served and none of their agents is running. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { bus, logger } = this.#deps;
    this.#sweepNow = new AbortController();
    this.#isShort = false;
    try {
      await bus.connected(signal);
      for (const role of this.#roles) {
        const filter = subjects.work({ sessionId: "*", role: role.role });
        const { state } = await bus.jsm.streams.info(bus.streams.work, { subjects_filter: filter });
        for (const subject of Object.keys(state.subjects ?? {})) this.#offer(role, laneOfSubject(subject), signal);
      }
    } catch (err) {
      if (signal.aborted) return;
      logger.warn({ action: "sweep_failed", err: errorText(err) }, "waiting work cannot be read");
    }
    if (this.#isShort) return this.#pause(SHORT_SWEEP_MS, signal);
    this.#shortage = new AbortController();
    await this.#pause(SWEEP_MS, AbortSignal.any([signal, this.#shortage.signal]));
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await this.#deps.clock.sleep(ms, AbortSignal.any([signal, this.#sweepNow.signal])).catch(() => {});
  }

  /**
   * Serves a lane that has, or recently had, work. If the role is at its limit, closes the link that has been idle
   * longest, if any, to make room.
   */
  #offer(role: ServedRole, lane: LaneName | undefined, signal: AbortSignal): void {
    if (lane === undefined || signal.aborted || this.#serving.has(laneKey(lane))) return;
    const served = [...this.#serving.values()].filter((each) => each.role === role);
    if (served.length >= role.most) {
      const since = ({ link }: Served) => link?.restingSinceMs ?? Number.POSITIVE_INFINITY;
      const longest = served.reduce((one, other) => (since(other) < since(one) ? other : one));
      if (longest.link?.restingSinceMs !== undefined) longest.link.close(1000, "another lane has work");
      this.#isShort = true;
      this.#shortage.abort();
      return;
    }
    const entry: Served = { role, link: undefined };
    this.#serving.set(laneKey(lane), entry);
    const running = this.#serve(entry, lane, signal).then((looksAgain) => {
      this.#running.delete(running);
      this.#serving.delete(laneKey(lane));
      if (looksAgain) this.#sweepNow.abort();
    });
    this.#running.add(running);
  }

  /** Serves a lane. False: another agent has the lane. Never rejects. */
  async #serve(entry: Served, lane: LaneName, signal: AbortSignal): Promise<boolean> {
    const { clock, logger, instance } = this.#deps;
    const { role } = entry;
    const names = { agentId: `relay-${instance.slice(0, 8)}`, connectionId: randomUUID() };
    try {
      const admitted = await this.#lanes.admit({ lane, ...names, dialect: role.dialect });
      const link = role.open(lane, names);
      entry.link = link;
      await admitted.serve(link).finally(() => link.close(1001, "the lane is given up"));
      await link.ended();
    } catch (err) {
      if (err instanceof LaneHeld) return false;
      const fields = { session_id: lane.sessionId, role: lane.role, err: errorText(err) };
      logger.warn({ action: "lane_unserved", ...fields }, "a lane cannot be served now");
      await clock.sleep(AGAIN_MS, signal).catch(() => {});
    }
    return true;
  }
}
