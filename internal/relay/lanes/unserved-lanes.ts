import { randomUUID } from "node:crypto";
import { untilAborted } from "../../base/abort.ts";
import { errorText } from "../../base/errors.ts";
import { isRefusal, type WorkMessage } from "../acp/work-message.ts";
import { Fenced } from "../nats/lane-log.ts";
import { allQueuedWork, type QueuedWork, queuedWork, removeWork } from "../nats/queued-work.ts";
import { type LaneName, laneKey } from "../nats/subjects.ts";
import { storedItem } from "../nats/work-item.ts";
import { readLaneWork, rejectWork } from "./dead-letters.ts";
import { cancelledBy } from "./held-lane.ts";
import { claimLane } from "./lane-claim.ts";
import type { LaneDeps, LaneOptions } from "./lane-deps.ts";
import { LaneJournal } from "./lane-journal.ts";
import { LaneHeld } from "./registry.ts";
import { decideTurn } from "./turn-policy.ts";

const MOST_EVERY_MS = 60_000;
const LEAST_EVERY_MS = 500;

/**
 * Rejects expired work and cancels work in lanes without an agent. Claims the lane meanwhile; an agent that connects
 * takes it over.
 */
export class UnservedLanes {
  readonly #deps: LaneDeps;
  readonly #options: LaneOptions;
  readonly #isServed: (lane: LaneName) => boolean;

  constructor(deps: LaneDeps, options: LaneOptions, isServed: (lane: LaneName) => boolean) {
    this.#deps = deps;
    this.#options = options;
    this.#isServed = isServed;
  }

  /** Looks for expired work at intervals until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, bus, logger } = this.#deps;
    const everyMs = Math.min(MOST_EVERY_MS, Math.max(LEAST_EVERY_MS, this.#options.workTtlMs / 4));
    await untilAborted(signal, async () => {
      await clock.sleep(everyMs * (0.75 + Math.random() / 2), signal);
      await bus.connected(signal);
      await this.#sweep(signal).catch((err: unknown) => {
        if (!signal.aborted)
          logger.warn({ action: "sweep_failed", err: errorText(err) }, "waiting work cannot be checked");
      });
    });
  }

  /**
   * Cancels work of a lane that has no holder. `done`: the work already has its result; `unknown`: the lane has no work
   * with this id.
   * @throws LaneHeld, Fenced if another relay has the lane
   */
  cancel(lane: LaneName, id: string, by: string, signal: AbortSignal): Promise<"cancelled" | "done" | "unknown"> {
    return this.#holding(lane, signal, async (journal) => {
      if (journal.state.done.has(id)) return "done";
      const found = await findQueued(this.#deps, this.#options, lane, id);
      if (found === undefined) return "unknown";
      await journal.append(() => ({ t: "cancelled", id, by }), signal);
      const attempt = journal.state.prompted?.id === id ? journal.state.prompted.attempt : 0;
      const traceparent = found.queued.headers?.get("traceparent") || undefined;
      await journal.settle({ work: found.work, answer: cancelledBy(by), attempt, traceparent }, signal);
      await removeWork(this.#deps.bus, found.queued);
      return "cancelled";
    });
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { bus, clock } = this.#deps;
    const seen = new Set<string>();
    for await (const { lane, storedAt } of allQueuedWork(bus)) {
      signal.throwIfAborted();
      if (clock.now() - storedAt <= this.#options.workTtlMs) return; // all that follow are younger
      if (seen.has(laneKey(lane)) || this.#isServed(lane)) continue;
      seen.add(laneKey(lane));
      await this.#expire(lane, signal).catch((err: unknown) => {
        if (!(err instanceof LaneHeld) && !(err instanceof Fenced)) throw err; // the holder rejects it
      });
    }
  }

  #expire(lane: LaneName, signal: AbortSignal): Promise<void> {
    const { bus, clock } = this.#deps;
    return this.#holding(lane, signal, async (journal) => {
      for await (const queued of queuedWork(bus, lane)) {
        const ageMs = clock.now() - queued.storedAt;
        if (ageMs <= this.#options.workTtlMs) return;
        const work = readLaneWork(this.#deps, queued, { ...lane, maxBytes: this.#options.maxMessageBytes });
        const reason = isRefusal(work) ? work.reason : this.#expiredReason(journal, lane, work, ageMs);
        if (reason === undefined) continue;
        await rejectWork(this.#deps, lane, storedItem(bus, queued), { reason, id: work.id }, signal);
      }
    });
  }

  #expiredReason(journal: LaneJournal, lane: LaneName, work: WorkMessage, ageMs: number): string | undefined {
    const { type } = decideTurn(journal.state, work, this.#options.limitsOf(lane.role), ageMs);
    return type === "expired" || type === "id_reused" ? type : undefined;
  }

  async #holding<T>(lane: LaneName, signal: AbortSignal, use: (journal: LaneJournal) => Promise<T>): Promise<T> {
    const nobody = { lane, agentId: "", connectionId: randomUUID(), dialect: "seed", leavesSilent: true } as const;
    const claim = await claimLane(this.#deps, nobody, this.#options, signal);
    const journal = new LaneJournal(this.#deps, claim, nobody);
    try {
      await journal.begin(signal);
      return await use(journal);
    } finally {
      await journal.release();
    }
  }
}

/** The oldest work of a lane with this id. */
export async function findQueued(
  deps: Pick<LaneDeps, "bus" | "signers">,
  { maxMessageBytes }: Pick<LaneOptions, "maxMessageBytes">,
  lane: LaneName,
  id: string,
): Promise<{ readonly queued: QueuedWork; readonly work: WorkMessage } | undefined> {
  for await (const queued of queuedWork(deps.bus, lane)) {
    const work = readLaneWork(deps, queued, { ...lane, maxBytes: maxMessageBytes });
    if (!isRefusal(work) && work.id === id) return { queued, work };
  }
  return undefined;
}
