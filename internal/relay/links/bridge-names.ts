import { createHash } from "node:crypto";
import type { AgentPhase } from "./bridge-sessions.ts";
import type { EventPlace } from "./bridge-turn.ts";

/** A session and a role. */
export interface WorkLane {
  readonly sessionId: string;
  readonly role: string;
}

/** The namespace of the UUIDs of relays' sessions. */
const NAMESPACE = Buffer.from("5b1f0a3c9d5e4b7f8c21d46a7e90b318", "hex");

/** The id of a lane's `count`-th session, from 1: a UUID of version 5. */
export function sessionIdOf({ sessionId, role }: WorkLane, count: number): string {
  const hash = createHash("sha1").update(NAMESPACE).update(`${sessionId}/${role}/${count}`).digest().subarray(0, 16);
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x50;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  const hex = hash.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** The idempotency key of an attempt at work: a bridge accepts it once. */
export function inputKeyOf({ sessionId, role }: WorkLane, id: string, attempt: number): string {
  return createHash("sha256")
    .update(JSON.stringify([sessionId, role, id, attempt]))
    .digest("hex");
}

/** A lane's session at a bridge, as the lane's log names it. */
export interface LaneSession {
  /** The number of the session in the lane, from 1. */
  readonly count: number;
  readonly id: string;
}

export function writeSession({ count, id }: LaneSession): string {
  return `${count}/${id}`;
}

/** Reads a text that `writeSession` wrote. Undefined for any other text. */
export function readSession(text: string | undefined): LaneSession | undefined {
  const [, count = "", id = ""] = /^([1-9]\d{0,8})\/([0-9a-f-]{36})$/.exec(text ?? "") ?? [];
  return id === "" ? undefined : { count: Number(count), id };
}

export function writePlace({ epoch, seq, phase }: EventPlace): string {
  return `${seq}/${phase}/${epoch}`;
}

export function readEventPlace(text: string | undefined): EventPlace | undefined {
  const [, seq = "", phase = "", epoch = ""] = /^(\d{1,16})\/([a-z-]+)\/(.+)$/s.exec(text ?? "") ?? [];
  return epoch === "" ? undefined : { epoch, seq: Number(seq), phase: phase as AgentPhase };
}
