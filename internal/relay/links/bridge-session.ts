import { firstOf } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { failure, type ResultPart } from "../acp/result-parts.ts";
import { type LaneSession, sessionIdOf, type WorkLane } from "./bridge-names.ts";
import { untilAnswered } from "./bridge-patience.ts";
import type { AgentPhase, BridgeSessions, SessionFacts, SessionParameters } from "./bridge-sessions.ts";
import type { EventPlace } from "./bridge-turn.ts";

export interface BridgeSessionDeps {
  readonly clock: Clock;
  readonly sessions: BridgeSessions;
}

export interface BridgeSessionOptions {
  readonly lane: WorkLane;
  readonly parameters: SessionParameters;
  /** True: each piece of work gets its own session. */
  readonly fresh: boolean;
  /** The longest time for an agent to start. */
  readonly createTimeoutMs: number;
}

/** A session that accepts prompts, and the place up to which its log has been read. */
export interface OpenSession {
  readonly session: LaneSession;
  readonly place: EventPlace;
}

/** The most ended sessions that are skipped: a bridge keeps their ids for a while. */
const MOST_ENDED = 256;
const LOOK_MS = 250;
const STOP_MS = 15_000;
/** The longest wait for an agent to start: earlier output is not part of an answer. */
const START_MS = 10_000;
const NEW: ReadonlySet<AgentPhase> = new Set<AgentPhase>(["unspecified", "starting", "uncertain"]);

/** A lane's session at a bridge: finds it, starts it if there is none, and replaces it if it has ended. */
export class BridgeSession {
  readonly #deps: BridgeSessionDeps;
  readonly #options: BridgeSessionOptions;
  #open: OpenSession | undefined;

  constructor(deps: BridgeSessionDeps, options: BridgeSessionOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  get open(): OpenSession | undefined {
    return this.#open;
  }

  /** Continues with a session and place that the lane's log, or a turn, names. */
  goOn(open: OpenSession): void {
    this.#open = open;
  }

  /**
   * Opens a session that accepts prompts, or returns a failure. Waits while the bridge is away or full.
   * @param known the last session in the lane's log
   * @param isNew true in the first attempt at the work
   * @throws the signal's reason
   */
  async ready(known: LaneSession | undefined, isNew: boolean, signal: AbortSignal): Promise<ResultPart | undefined> {
    const mine = this.#open?.session;
    const last = mine !== undefined && mine.count >= (known?.count ?? 0) ? mine : known;
    try {
      const kept = last && (await this.#kept(last, isNew, signal));
      const session = kept ?? (await this.#another(last?.count ?? 0, signal));
      return await this.#running(session, signal);
    } catch (err) {
      if (signal.aborted || !(err instanceof DomainError)) throw err;
      return failure("agent_lost", `the bridge gives no session: ${err.message}`);
    }
  }

  /** Stops the session, and waits for that at most 15 s. Never fails. */
  async stop(): Promise<void> {
    const id = this.#open?.session.id;
    if (id === undefined) return;
    const stopped = (stop: AbortSignal) => this.#stop(id, stop);
    const late = (stop: AbortSignal) => this.#deps.clock.sleep(STOP_MS, stop);
    await firstOf(undefined, stopped, late).catch(() => {});
  }

  /** The session of the previous work, if it can be used again. */
  async #kept(last: LaneSession, isNew: boolean, signal: AbortSignal): Promise<LaneSession | undefined> {
    const facts = await this.#get(last.id, signal);
    if (facts === undefined || facts.status === "ended") return undefined;
    const isDone = this.#options.fresh && isNew;
    if (!isDone && this.#isSame(facts)) return last;
    await this.#stop(last.id, signal);
    return undefined;
  }

  /**
   * Starts or finds the next session that has not ended. A relay that was killed before it recorded the session may
   * have started it.
   */
  async #another(before: number, signal: AbortSignal): Promise<LaneSession> {
    const { lane, parameters } = this.#options;
    const { clock, sessions } = this.#deps;
    for (let count = before + 1; count <= before + MOST_ENDED; count++) {
      const id = sessionIdOf(lane, count);
      const facts = await this.#get(id, signal);
      if (facts?.status === "ended") continue;
      if (facts === undefined) await untilAnswered(clock, signal, () => sessions.start(id, parameters, signal));
      else if (!this.#isSame(facts)) {
        await this.#stop(id, signal);
        continue;
      }
      return { count, id };
    }
    throw new DomainError("exhausted", `${MOST_ENDED} sessions of this lane have ended and are still kept`);
  }

  async #running(session: LaneSession, signal: AbortSignal): Promise<ResultPart | undefined> {
    const { clock } = this.#deps;
    const { createTimeoutMs } = this.#options;
    const until = clock.monotonicMs() + createTimeoutMs;
    for (;;) {
      const facts = await this.#get(session.id, signal);
      if (facts === undefined || facts.status === "ended") {
        return failure("agent_lost", `the session could not be started: ${facts?.error || "it has ended"}`);
      }
      if (facts.status === "running" && facts.epoch !== "") {
        this.#open = { session, place: await this.#head(session, facts, signal) };
        return undefined;
      }
      if (clock.monotonicMs() >= until) {
        await this.#stop(session.id, signal);
        const why = facts.error === "" ? "" : `: ${facts.error}`;
        return failure("deadline", `creating the agent's session took longer than ${createTimeoutMs} ms${why}`);
      }
      await clock.sleep(LOOK_MS, signal);
    }
  }

  /**
   * Reads a session's log to its head, to learn the agent's phase there; a new session's log until the agent has
   * started.
   */
  async #head({ id }: LaneSession, { epoch, lastSeq }: SessionFacts, signal: AbortSignal): Promise<EventPlace> {
    const { session, place: before } = this.#open ?? {};
    const isKnown = session?.id === id && before?.epoch === epoch;
    if (isKnown && before.seq >= lastSeq) return before;
    const { clock, sessions } = this.#deps;
    let place: EventPlace = isKnown ? before : { epoch, seq: 0, phase: "unspecified" };
    const read = async (stop: AbortSignal) => {
      for await (const event of sessions.events(id, place, stop)) {
        const phase = event.type === "phase" ? event.phase : event.type === "gap" ? "unspecified" : place.phase;
        place = { epoch: event.epoch, seq: event.seq, phase };
        if (event.epoch !== epoch || (event.seq >= lastSeq && (isKnown || !NEW.has(phase)))) return;
      }
    };
    await firstOf(signal, read, (stop) => clock.sleep(START_MS, stop));
    return place;
  }

  #get(id: string, signal: AbortSignal): Promise<SessionFacts | undefined> {
    const { clock, sessions } = this.#deps;
    return untilAnswered(clock, signal, () => sessions.get(id, signal));
  }

  #stop(id: string, signal: AbortSignal): Promise<void> {
    const { clock, sessions } = this.#deps;
    return untilAnswered(clock, signal, () => sessions.stop(id, signal));
  }

  #isSame({ provider, repoPath, agentOpts }: SessionParameters): boolean {
    const text = (one: SessionParameters) =>
      JSON.stringify([one.provider, one.repoPath, Object.entries(one.agentOpts).toSorted()]);
    return text({ provider, repoPath, agentOpts }) === text(this.#options.parameters);
  }
}
