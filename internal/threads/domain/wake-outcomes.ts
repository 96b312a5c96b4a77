import type { WakeState } from "./types.ts";

/** Outcomes of a nudge; see `NudgeOutcome` in `internal/session`. */
export type NudgeOutcomeWord =
  | ("submitted" | "queued" | "stranded" | "unknown" | "blocked-by-dialog" | "composer-busy")
  | ("agent-dead" | "expired" | "unsafe" | "cancelled");

/** What becomes of a wake whose attempt has ended. */
interface AfterOutcome {
  readonly state: WakeState;
  /** Until it is looked at again, ms. */
  readonly againMs?: number;
  readonly blockedBy?: string;
  /** The text may have reached the agent: its messages count as offered. */
  readonly offered: boolean;
  /** People are to learn of it. */
  readonly escalate: boolean;
}

const RECHECK_MS = 5000;
/** A text without proof is looked at once more after this. */
const DOUBT_MS = 60_000;

/**
 * `waits`: messages still wait for the agent. `ours`: why the worker itself has taken a cancelled one back, nothing
 * waited then, or a person was in the way for too long.
 */
export function afterOutcome(
  outcome: Exclude<NudgeOutcomeWord, "queued">,
  waits: boolean,
  ours?: "read" | "person",
): AfterOutcome {
  switch (outcome) {
    case "submitted":
      return { state: "SUBMITTED", offered: true, escalate: false };
    case "unknown":
    case "stranded":
      return { state: "UNKNOWN", againMs: DOUBT_MS, offered: true, escalate: false };
    case "composer-busy":
      return { state: "DEFERRED", againMs: RECHECK_MS, blockedBy: "draft", offered: false, escalate: false };
    case "blocked-by-dialog":
      return { state: "DEFERRED", againMs: RECHECK_MS, blockedBy: "dialog", offered: false, escalate: false };
    case "agent-dead":
      return { state: "DEFERRED", againMs: RECHECK_MS, blockedBy: "unreachable", offered: false, escalate: false };
    case "unsafe":
      return { state: "FAILED", offered: false, escalate: true };
    case "expired":
    case "cancelled":
      return waits
        ? {
            ...{ state: "DEFERRED", againMs: ours === "read" ? 0 : RECHECK_MS, offered: false, escalate: false },
            ...(ours === "person" && { blockedBy: "person" }),
          }
        : { state: "CANCELLED", offered: false, escalate: false };
  }
}
