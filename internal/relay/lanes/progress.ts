import { type JsonObject, member, writeJson } from "../acp/json-text.ts";
import type { Bus } from "../nats/bus.ts";
import { type LaneName, subjects } from "../nats/subjects.ts";

/**
 * Sends an agent's updates on `sessions.{sid}.progress.{role}` as they are, at most once; `seq` shows what is missing.
 */
export class Progress {
  readonly #bus: Bus;
  readonly #lane: LaneName;
  /** Of the connection: a new one counts from 1 again. */
  readonly #epoch: string;
  #seq = 0;

  constructor(bus: Bus, lane: LaneName, epoch: string) {
    this.#bus = bus;
    this.#lane = lane;
    this.#epoch = epoch;
  }

  send(workId: string, update: JsonObject): void {
    const kind = member(update, "sessionUpdate");
    const body = writeJson({
      id: workId,
      session_id: this.#lane.sessionId,
      type: `progress.${typeof kind === "string" ? kind : "unknown"}`,
      payload: update,
      epoch: this.#epoch,
      seq: ++this.#seq,
    });
    if (this.#bus.isConnected) this.#bus.nc.publish(subjects.progress(this.#lane), body);
  }
}
