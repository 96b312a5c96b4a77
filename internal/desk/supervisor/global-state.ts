import { z } from "zod";
import type { Channels } from "../engine/contract.ts";

/** Where a text goes, and why. */
export interface Intent {
  readonly route: "answer" | "customer";
  /** The number of the rule that matched, from 1, or another source of the decision. */
  readonly rule: number | "default" | "agent";
  readonly reason: string;
}

/** The envelope and outcome of a text that was sent to the front. */
export interface Crossing {
  readonly id: string;
  readonly thread: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly outcome: CrossingOutcome;
}

/** `SUBMITTED`: in the front's journal. `REFUSED`: the front did not accept it. `UNKNOWN`: it is not known which. */
export type CrossingOutcome = "SUBMITTED" | "REFUSED" | "UNKNOWN";

/** The back's state in one turn. Only the message that the bridge builds from `admin_input` leaves this half. */
export interface GlobalState {
  /** The text as the administrator typed it. */
  readonly admin_input: string;
  readonly intent: Intent | null;
  readonly files_read: readonly { readonly path: string; readonly bytes: number; readonly sha256: string }[];
  readonly answer: string;
  readonly history: readonly { readonly input: string; readonly isBriefing: boolean; readonly answer: string }[];
  readonly crossing: Crossing | null;
  /** The customer agent's words, untrusted; null: there are none. */
  readonly reply: string | null;
}

const envelope = { id: z.string(), thread: z.string(), bytes: z.int(), sha256: z.string() };

export const globalChannels: Channels<GlobalState> = {
  admin_input: z.string(),
  intent: z
    .strictObject({
      route: z.enum(["answer", "customer"]),
      rule: z.union([z.int(), z.enum(["default", "agent"])]),
      reason: z.string(),
    })
    .nullable(),
  files_read: z.array(z.strictObject({ path: z.string(), bytes: z.int(), sha256: z.string() })),
  answer: z.string(),
  history: z.array(z.strictObject({ input: z.string(), isBriefing: z.boolean(), answer: z.string() })),
  crossing: z.strictObject({ ...envelope, outcome: z.enum(["SUBMITTED", "REFUSED", "UNKNOWN"]) }).nullable(),
  reply: z.string().nullable(),
};

/** The state that a turn begins with. */
export function globalState(adminInput: string, history: GlobalState["history"]): GlobalState {
  return {
    ...{ admin_input: adminInput, history, intent: null, files_read: [], answer: "", crossing: null, reply: null },
  };
}
