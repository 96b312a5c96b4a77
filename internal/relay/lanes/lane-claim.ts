import { DomainError } from "../../base/errors.ts";
import type { Dialect } from "../acp/dialect.ts";
import { LaneConsumer } from "../nats/lane-consumer.ts";
import { Fenced, LaneLog } from "../nats/lane-log.ts";
import type { LaneName } from "../nats/subjects.ts";
import { askHolder } from "./instance-calls.ts";
import type { LaneDeps, LaneOptions } from "./lane-deps.ts";
import { type LaneRecord, parseLaneRecord } from "./lane-records.ts";
import { afterRecord, foldLane, type LaneState } from "./lane-state.ts";
import { LaneHeld } from "./registry.ts";

/** The connection that a lane is claimed for. */
export interface Claimant {
  readonly lane: LaneName;
  readonly agentId: string;
  readonly connectionId: string;
  readonly dialect: Dialect;
  /** True: a holder that does not answer keeps the lane. Default: it loses the lane. */
  readonly leavesSilent?: boolean;
}

/** A held lane: its log, its consumer, and the state that the log describes. */
export interface Claim {
  readonly lane: LaneName;
  readonly generation: number;
  readonly log: LaneLog;
  readonly consumer: LaneConsumer;
  readonly state: LaneState;
  /** The results of later work have higher sequences than this. */
  readonly resultsAfter: number;
}

type ClaimTimes = Pick<LaneOptions, "ackWaitMs" | "holderMs">;

const TRIES = 8;

/**
 * Takes a lane: appends the claim to its log, deletes the consumer of the previous generation, so that acknowledgements
 * of an earlier holder are void, and creates a consumer.
 * @throws LaneHeld if the holder serves another agent, or does not answer and `leavesSilent` is set
 * @throws Fenced if other claimants are faster in every attempt
 */
export async function claimLane(deps: LaneDeps, who: Claimant, times: ClaimTimes, signal: AbortSignal): Promise<Claim> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryClaim(deps, who, times, signal);
    } catch (err) {
      if (!(err instanceof Fenced) || attempt >= TRIES) throw err;
    }
  }
}

/** Reads the state that the log describes now. The next append follows the log's last record. */
export async function readLane(log: LaneLog): Promise<LaneState> {
  const entries = await log.read();
  return foldLane(entries.map(({ text }) => parseLaneRecord(text)).filter((record) => record !== undefined));
}

async function tryClaim(
  deps: LaneDeps,
  who: Claimant,
  { ackWaitMs, holderMs }: ClaimTimes,
  signal: AbortSignal,
): Promise<Claim> {
  const { bus, clock, instance, reached } = deps;
  const { lane, agentId, connectionId, dialect, leavesSilent = false } = who;
  const log = new LaneLog(bus, clock, lane);
  const before = await readLane(log);
  if (before.holder !== undefined && before.holder.instance !== instance) {
    const answer = await askHolder(bus, before.holder.instance, { lane, agentId }, holderMs);
    const isKept = answer === "held" || (answer === "silent" && leavesSilent);
    if (isKept) throw new LaneHeld(lane, before.holder.agent_id);
    if (answer === "released") throw new Fenced(lane); // its record came after this read
  }
  const generation = before.generation + 1;
  const holder = { generation, instance, connection: connectionId, agent_id: agentId, dialect };
  const record: LaneRecord = { t: "claimed", ...holder };
  await log.append(record, signal);
  reached("claimed");
  const consumer = new LaneConsumer(bus, lane, generation);
  if (before.generation > 0) await consumer.deleteOf(before.generation);
  await makeConsumer(consumer, log, generation, ackWaitMs, signal);
  const results = await bus.jsm.streams.info(bus.streams.results);
  const state = afterRecord(before, record);
  return { lane, generation, log, consumer, state, resultsAfter: results.state.last_seq };
}

/**
 * Creates the consumer, if need be after deleting those of earlier generations: a claimant that was fenced without
 * knowing it may have created one between our two calls, which would keep the lane's work from this holder.
 */
async function makeConsumer(
  consumer: LaneConsumer,
  log: LaneLog,
  generation: number,
  ackWaitMs: number,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; !(await consumer.create(ackWaitMs)); attempt++) {
    signal.throwIfAborted();
    if ((await readLane(log)).generation !== generation) throw log.fence();
    if (attempt >= TRIES) throw new DomainError("unavailable", "the lane's consumer cannot be created");
    await consumer.deleteEarlier();
  }
}
