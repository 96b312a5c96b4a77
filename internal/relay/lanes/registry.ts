import { DomainError } from "../../base/errors.ts";
import type { Dialect } from "../acp/dialect.ts";
import { type LaneName, laneKey } from "../nats/subjects.ts";

/** Another agent, which is connected, holds the lane. */
export class LaneHeld extends DomainError {
  constructor({ sessionId, role }: LaneName, agentId: string) {
    super("already-exists", `${sessionId}:${role} is held by the agent ${agentId}`);
  }
}

/** An agent's connection, as the registry shows it. */
export interface ConnectionFacts {
  readonly id: string;
  readonly session_id: string;
  readonly agent_id: string;
  readonly role: string;
  readonly dialect: Dialect;
  /** RFC 3339. */
  readonly connected_at: string;
  readonly last_activity: string;
  readonly alive: boolean;
}

/** A connection that has a lane, or is claiming it. */
export interface Entry {
  readonly lane: LaneName;
  readonly agentId: string;
  readonly connectionId: string;
  facts(): ConnectionFacts;
  /** Gives the lane up because the agent is connected elsewhere; resolves when the lane is free. */
  supersede(): Promise<void>;
}

/** The connections of this relay, by lane and by agent. An agent may hold several lanes. */
export class Registry {
  readonly #byLane = new Map<string, Entry>();

  get size(): number {
    return this.#byLane.size;
  }

  byLane(lane: LaneName): Entry | undefined {
    return this.#byLane.get(laneKey(lane));
  }

  byAgent(agentId: string): readonly Entry[] {
    return [...this.#byLane.values()].filter((entry) => entry.agentId === agentId);
  }

  all(): readonly Entry[] {
    return [...this.#byLane.values()];
  }

  /**
   * Registers a connection for its lane, after superseding an earlier connection of the same agent.
   * @throws LaneHeld if another agent has the lane
   */
  async enter(entry: Entry): Promise<void> {
    for (;;) {
      const held = this.byLane(entry.lane);
      if (held === undefined) break;
      if (held.agentId !== entry.agentId) throw new LaneHeld(entry.lane, held.agentId);
      await held.supersede();
      this.leave(held);
    }
    this.#byLane.set(laneKey(entry.lane), entry);
  }

  leave(entry: Entry): void {
    if (this.byLane(entry.lane) === entry) this.#byLane.delete(laneKey(entry.lane));
  }
}
