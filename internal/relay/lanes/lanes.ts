import { withTimeout } from "../../base/abort.ts";
import { DomainError } from "../../base/errors.ts";
import { ConsumerGone } from "../nats/lane-consumer.ts";
import { Fenced, LogLost, StoreLost } from "../nats/lane-log.ts";
import { type LaneName, laneKey } from "../nats/subjects.ts";
import { AgentLost } from "./agent-lost.ts";
import { HeldLane } from "./held-lane.ts";
import { type Claim, type Claimant, claimLane, readLane } from "./lane-claim.ts";
import type { LaneDeps, LaneOptions } from "./lane-deps.ts";
import type { LaneLink } from "./link.ts";
import { type Entry, LaneHeld, type Registry } from "./registry.ts";

/** Close codes that agents receive. */
const CLOSE = { drained: 1001, superseded: 4001 } as const;
const CLAIM_MS = 20_000;
const AGAIN_MS = 250;

/** A lane that was claimed for a connection which is about to open. */
export interface Admitted {
  /** Serves the agent until its connection ends, the lane is lost, or the relay drains. */
  serve(link: LaneLink): Promise<void>;
  /** Gives the lane back if the connection never opened. */
  abandon(): Promise<void>;
}

export interface LanesUntil {
  /** Once aborted, no more work is pulled. */
  readonly draining: AbortSignal;
  /** Once aborted, open turns are given back. */
  readonly ended: AbortSignal;
  /** Called with each agent that is served; the returned function is called when the agent is no longer served. */
  readonly onServed?: ((who: Claimant) => () => void) | undefined;
}

/** Claims lanes for agents that connect, and does their work until the agents go. */
export class Lanes {
  readonly #deps: LaneDeps;
  readonly #options: LaneOptions;
  readonly #registry: Registry;
  readonly #held = new Map<string, HeldLane>();
  readonly #serving = new Set<Promise<void>>();
  #store = new AbortController();
  readonly #draining: AbortSignal;
  readonly #ended: AbortSignal;
  readonly #onServed: LanesUntil["onServed"];

  constructor(deps: LaneDeps, options: LaneOptions, registry: Registry, { draining, ended, onServed }: LanesUntil) {
    this.#deps = deps;
    this.#options = options;
    this.#registry = registry;
    this.#draining = draining;
    this.#ended = ended;
    this.#onServed = onServed;
  }

  get held(): number {
    return this.#held.size;
  }

  get turnsOpen(): number {
    return [...this.#held.values()].filter((lane) => lane.turnOpen).length;
  }

  /**
   * Claims a lane for an agent.
   * @throws LaneHeld if another agent holds it; DomainError `unavailable` if NATS does not answer, or the relay is
   * shutting down
   */
  async admit(who: Claimant): Promise<Admitted> {
    const { bus, clock, metrics } = this.#deps;
    if (this.#draining.aborted) throw new DomainError("unavailable", "the relay is shutting down");
    if (!bus.isConnected) throw new DomainError("unavailable", "NATS is away");
    const place = new Place(this.#deps, who);
    try {
      await this.#registry.enter(place);
      const claiming = claimLane(this.#deps, who, this.#options, this.#ended);
      const claim = await withTimeout(clock, CLAIM_MS, "claiming the lane", claiming);
      metrics.claims.inc({ outcome: "held" });
      return this.#admitted(who, place, claim);
    } catch (err) {
      place.left();
      this.#registry.leave(place);
      metrics.claims.inc({ outcome: err instanceof LaneHeld ? "conflict" : "failed" });
      if (err instanceof DomainError && !(err instanceof Fenced)) throw err;
      throw new DomainError("unavailable", "the lane cannot be taken now", { cause: err });
    }
  }

  /** Undefined: this relay does not hold the lane at the moment. */
  heldLane(lane: LaneName): HeldLane | undefined {
    return this.#held.get(laneKey(lane));
  }

  /** Claims every lane again after NATS has lost its store. The outcome of open turns is then unknown. */
  storeLost(): void {
    const before = this.#store;
    this.#store = new AbortController();
    before.abort(new StoreLost());
  }

  /** Resolves when no connection is being served. */
  async idle(): Promise<void> {
    while (this.#serving.size > 0) await Promise.allSettled([...this.#serving]);
  }

  #admitted(who: Claimant, place: Place, claim: Claim): Admitted {
    const leave = () => {
      place.left();
      this.#registry.leave(place);
    };
    return {
      serve: (link) => {
        place.link = link;
        const unserved = this.#onServed?.(who);
        const served = this.#serve(who, place, claim, link).finally(() => {
          unserved?.();
          leave();
        });
        this.#serving.add(served);
        return served.finally(() => this.#serving.delete(served));
      },
      abandon: async () => {
        try {
          await claim.log.append({ t: "released", generation: claim.generation }, AbortSignal.timeout(CLAIM_MS));
          await claim.consumer.delete();
        } finally {
          leave();
        }
      },
    };
  }

  async #serve(who: Claimant, place: Place, first: Claim, link: LaneLink): Promise<void> {
    for (let claim: Claim | undefined = first; claim !== undefined; ) {
      const held: Claim = claim;
      const lane = new HeldLane(this.#deps, this.#options, held, link);
      this.#held.set(laneKey(who.lane), lane);
      const { signal: stored } = this.#store;
      try {
        await lane.run(this.#draining, AbortSignal.any([this.#ended, place.superseded, stored]));
        const isLost = stored.aborted && !this.#ended.aborted && !place.superseded.aborted;
        claim = isLost ? await this.#again(who, place, held, link) : undefined;
      } catch (err) {
        claim = await this.#afterFailure(err, who, place, held, link);
      } finally {
        if (this.heldLane(who.lane) === lane) this.#held.delete(laneKey(who.lane));
      }
    }
    if (place.superseded.aborted) link.close(CLOSE.superseded, "superseded");
    else link.close(CLOSE.drained, "the relay is shutting down");
  }

  /** A new claim to continue with; undefined: the lane or the agent is lost. */
  async #afterFailure(
    err: unknown,
    who: Claimant,
    place: Place,
    claim: Claim,
    link: LaneLink,
  ): Promise<Claim | undefined> {
    const { logger, metrics } = this.#deps;
    const fields = { session_id: who.lane.sessionId, role: who.lane.role, agent_id: who.agentId };
    if (err instanceof AgentLost || link.gone.aborted) return undefined;
    if (err instanceof Fenced) {
      metrics.fenced.inc();
      logger.warn({ action: "fenced", ...fields }, "another relay has taken the lane");
      link.close(CLOSE.superseded, "superseded");
      return undefined;
    }
    if (err instanceof LogLost) {
      logger.error(
        { action: "log_lost", ...fields },
        "the lane's log is gone, and with it the outcome of an open turn",
      );
    } else if (!(err instanceof ConsumerGone)) logger.error({ action: "lane_failed", ...fields, err }, "a lane failed");
    return this.#again(who, place, claim, link);
  }

  /**
   * Claims the lane again after a failure or a loss of the store. Undefined: another holder has it, or the relay or
   * agent is leaving.
   */
  async #again(who: Claimant, place: Place, { log, generation }: Claim, link: LaneLink): Promise<Claim | undefined> {
    const { bus, clock, metrics } = this.#deps;
    const stop = AbortSignal.any([this.#ended, this.#draining, place.superseded, link.gone]);
    while (!stop.aborted) {
      try {
        await bus.connected(stop);
        const { holder } = await readLane(log);
        if (holder !== undefined && holder.generation > generation && holder.connection !== who.connectionId) {
          metrics.fenced.inc();
          link.close(CLOSE.superseded, "superseded");
          return undefined;
        }
        return await claimLane(this.#deps, who, this.#options, stop);
      } catch (err) {
        if (err instanceof LaneHeld) {
          link.close(CLOSE.superseded, "superseded");
          return undefined;
        }
        await clock.sleep(AGAIN_MS, stop).catch(() => {});
      }
    }
    return undefined;
  }
}

/** A connection's entry in the registry. */
class Place implements Entry {
  readonly lane;
  readonly agentId: string;
  readonly connectionId: string;
  link: LaneLink | undefined;
  readonly #deps: LaneDeps;
  readonly #dialect;
  readonly #connectedAt: string;
  readonly #superseded = new AbortController();
  readonly #left = Promise.withResolvers<void>();

  constructor(deps: LaneDeps, { lane, agentId, connectionId, dialect }: Claimant) {
    this.#deps = deps;
    this.lane = lane;
    this.agentId = agentId;
    this.connectionId = connectionId;
    this.#dialect = dialect;
    this.#connectedAt = new Date(deps.clock.now()).toISOString();
  }

  get superseded(): AbortSignal {
    return this.#superseded.signal;
  }

  facts() {
    const { clock } = this.#deps;
    const silentMs = this.link === undefined ? 0 : clock.monotonicMs() - this.link.lastFrameMs;
    return {
      id: this.connectionId,
      session_id: this.lane.sessionId,
      agent_id: this.agentId,
      role: this.lane.role,
      dialect: this.#dialect,
      connected_at: this.#connectedAt,
      last_activity: new Date(clock.now() - silentMs).toISOString(),
      alive: this.link?.gone.aborted === false,
    };
  }

  async supersede(): Promise<void> {
    const { sessionId, role } = this.lane;
    if (!this.#superseded.signal.aborted) {
      this.#deps.events.publish(sessionId, "agent.superseded", { agent_id: this.agentId, role });
      this.#superseded.abort(new AgentLost("superseded"));
    }
    await this.#left.promise;
  }

  left(): void {
    this.#left.resolve();
  }
}
