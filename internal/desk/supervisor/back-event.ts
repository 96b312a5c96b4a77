import type { TurnOutcome } from "./back-records.ts";
import type { CrossingOutcome, Intent } from "./global-state.ts";

/** A step of a turn, shown to the administrator as it happens. */
export type BackEvent =
  | {
      readonly type: "decision";
      readonly route: Intent["route"];
      readonly rule: Intent["rule"];
      readonly reason: string;
    }
  | {
      readonly type: "crossed";
      readonly crossing_id: string;
      readonly thread: string;
      readonly bytes: number;
      readonly sha256: string;
      readonly outcome: CrossingOutcome;
    }
  | { readonly type: "refused"; readonly reason: string }
  | {
      readonly type: "read";
      readonly path: string;
      readonly ok: boolean;
      readonly reason?: string;
      readonly bytes?: number;
    }
  /** The customer's words are untrusted. */
  | { readonly type: "answer"; readonly from: "supervisor" | "customer"; readonly text: string }
  | { readonly type: "error"; readonly reason: string }
  | { readonly type: "turn_end"; readonly turn: string; readonly outcome: TurnOutcome };
