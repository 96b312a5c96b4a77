import type { WakeState } from "./types.ts";

/** Outcomes of a nudge; see `NudgeOutcome` in `internal/session`. */
export type NudgeOutcomeWord =
  | ("submitted" | "queued" | "stranded" | "unknown" | "blocked-by-dialog" | "composer-busy")
  | ("agent-dead" | "expired" | "unsafe" | "cancelled");

/** The effect of an attempt's outcome on its wake. */
interface AfterOutcome {
  readonly state: WakeState;
  /** Delay until the wake is due again, ms. */
  readonly againMs?: number;
  readonly blockedBy?: string | undefined;
  /** The text may have reached the agent, so the messages that it names count as offered. */
  readonly offered: boolean;
  /** People are to be informed. */
  readonly escalate: boolean;
}

/** Why a worker takes a queued text back. */
export type TakenBack = "read" | "person" | "force";

const RECHECK_MS = 5000;
/** A wake whose text was typed without proof is checked again after this time. */
const DOUBT_MS = 60_000;

/**
 * Derives a wake's next state from the outcome of its attempt. `waits`: messages are still waiting for the agent.
 * `ours`: why the worker itself cancelled the nudge: the agent had read everything, a person blocked it for too long,
 * or an operator has forced the wake.
 */
export function afterOutcome(
  outcome: Exclude<NudgeOutcomeWord, "queued">,
  waits: boolean,
  ours?: TakenBack,
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
            ...{
              state: "DEFERRED",
              againMs: ours === "read" || ours === "force" ? 0 : RECHECK_MS,
              offered: false,
              escalate: false,
            },
            blockedBy: ours === "person" ? "person" : undefined,
          }
        : { state: "CANCELLED", offered: false, escalate: false };
  }
}

/** Whether a draft or a dialog blocked the text; nothing is ever typed over either. */
export function isCollision(outcome: string): boolean {
  return outcome === "composer-busy" || outcome === "blocked-by-dialog";
}
