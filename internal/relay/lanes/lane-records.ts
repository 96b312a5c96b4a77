import type { Exchange } from "../acp/conversation.ts";
import type { Dialect } from "../acp/dialect.ts";
import { isObject, RECORD_DEPTH, readJson } from "../acp/json-text.ts";
import type { ResultPart } from "../acp/result-parts.ts";

/** The holder of a lane: one connection of one agent, at one relay. */
export interface Holder {
  readonly generation: number;
  /** The id of the relay's process. */
  readonly instance: string;
  readonly connection: string;
  readonly agent_id: string;
  readonly dialect: Dialect;
}

/** The work of a turn, as each of its records names it. */
interface TurnWork {
  readonly id: string;
  readonly hash: string;
}

/** An answer, recorded before it is published. From then on the agent is not asked again. */
export interface Answered extends TurnWork {
  readonly t: "answered";
  readonly parts: readonly ResultPart[];
  /** The results of this work have higher sequences than this in the stream of results. */
  readonly results_after: number;
  readonly attempt: number;
  readonly agent_id: string;
  readonly dialect: Dialect;
  /** The exchange for the conversation; absent: there is none. */
  readonly exchange?: Exchange | undefined;
  /** True: the exchange begins a new conversation. */
  readonly fresh: boolean;
  /** The `traceparent` of the results; absent: there is none, or an earlier version has written the record. */
  readonly traceparent?: string | undefined;
}

export interface Prompted extends TurnWork {
  readonly t: "prompted";
  readonly work_seq: number;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  readonly dialect: Dialect;
  /** The agent's own session that gets the prompt; absent: the agent has none. */
  readonly agent_session?: string | undefined;
  /** The place in that session from which the answer can be read again. */
  readonly agent_place?: string | undefined;
}

/** A record of a lane's log. */
export type LaneRecord =
  | (Holder & { readonly t: "claimed" })
  | { readonly t: "released"; readonly generation: number }
  | Prompted
  | Answered
  | (TurnWork & { readonly t: "done" })
  /** Work that must not be done, or not be continued. `by`: the name of its canceller. */
  | { readonly t: "cancelled"; readonly id: string; readonly by: string }
  | {
      readonly t: "snapshot";
      readonly generation: number;
      readonly holder: Holder | null;
      readonly done: readonly (readonly [id: string, hash: string])[];
      readonly exchanges: readonly Exchange[];
      /** An interrupted turn. Absent, like the next member, in logs of earlier versions. */
      readonly prompted?: Prompted | null;
      readonly cancelled?: readonly (readonly [id: string, by: string])[];
      readonly agent_session?: string | undefined;
    };

const TYPES: ReadonlySet<unknown> = new Set([
  ...["claimed", "released", "prompted", "answered", "done", "cancelled", "snapshot"],
]);

/** Reads a record. Undefined: a record of a later version, to be skipped. */
export function parseLaneRecord(text: string): LaneRecord | undefined {
  const value = readJson(text, RECORD_DEPTH);
  return isObject(value) && TYPES.has(value["t"]) ? (value as unknown as LaneRecord) : undefined;
}
