import { type ExactJson, isObject, type JsonObject, member, writeJson } from "../acp/json-text.ts";
import type { LossyPublisher } from "../nats/lossy-publisher.ts";
import type { ProgressPlace, ProgressRings } from "../nats/progress-rings.ts";
import { type LaneName, subjects } from "../nats/subjects.ts";
import type { RelayMetrics } from "./relay-metrics.ts";

interface ProgressDeps {
  readonly lossy: Pick<LossyPublisher, "publish">;
  readonly rings: Pick<ProgressRings, "add">;
  readonly metrics: Pick<RelayMetrics, "progressGaps">;
}

/**
 * Publishes an agent's updates on `sessions.{sid}.progress.{role}` unchanged, at most once. Gaps in `seq` show which
 * are missing.
 */
export class Progress {
  readonly #deps: ProgressDeps;
  readonly #lane: LaneName;
  /** The connection's epoch: each connection counts `seq` from 1. */
  readonly #epoch: string;
  #seq = 0;
  #isGap = false;

  constructor(deps: ProgressDeps, lane: LaneName, epoch: string) {
    this.#deps = deps;
    this.#lane = lane;
    this.#epoch = epoch;
  }

  send(workId: string, update: JsonObject): void {
    const kind = member(update, "sessionUpdate");
    const place = { epoch: this.#epoch, seq: ++this.#seq };
    const body = writeJson({
      id: workId,
      session_id: this.#lane.sessionId,
      type: `progress.${typeof kind === "string" ? kind : "unknown"}`,
      payload: update,
      ...place,
    });
    this.#deps.rings.add(this.#lane, { ...place, body });
    const isSent = this.#deps.lossy.publish(subjects.progress(this.#lane), body);
    if (!isSent && !this.#isGap) this.#deps.metrics.progressGaps.inc();
    this.#isGap = !isSent;
  }
}

/** The position that an object's `epoch` and `seq` state; undefined: the value states none. */
export function progressPlaceIn(value: ExactJson | undefined): ProgressPlace | undefined {
  const [epoch, seq] = isObject(value) ? [member(value, "epoch"), member(value, "seq")] : [];
  return typeof epoch === "string" && typeof seq === "number" ? { epoch, seq } : undefined;
}
