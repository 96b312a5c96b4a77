import { QUIET_DEFAULT_MS } from "../../session/nudge-request.ts";
import type { AgentStateName, NudgeMode, NudgeOutcome } from "../../session/types.ts";

/** The input of a decision about one message. */
export interface Situation {
  readonly state: AgentStateName;
  /** A restart will be tried: dead is then only a pause. */
  readonly restartDue: boolean;
  /** A place to type into is on the screen. */
  readonly composerSeen: boolean;
  /** A text that is not ours is in the composer. */
  readonly draft: boolean;
  /** A person at an attached terminal is typing. */
  readonly typing?: boolean;
  /** Milliseconds since a person's last key of any kind; absent: none yet. */
  readonly personQuietMs?: number;
  /** A message of ours was submitted a moment ago: the composer may still show the old drawing of it. */
  readonly justSubmitted?: boolean;
  /** In this life no source has shown yet that the agent is idle or working, although the agent can prove it. */
  readonly unproven?: boolean;
  /** An earlier message of ours may be in a prompt that cannot be read. */
  readonly leftover?: boolean;
  /** The text typed last has not been drawn, or not been read: the agent may hang. */
  readonly undrawn?: boolean;
  /** Idle cannot be proved for this agent: type into it when it is quiet. */
  readonly idleIsUnprovable: boolean;
  /** Milliseconds since the last output. */
  readonly quietMs: number;
}

export interface Candidate {
  readonly mode: NudgeMode;
  /** The caller has its answer, QUEUED: the message waits until its time to live ends. */
  readonly parked: boolean;
  readonly expired: boolean;
  /** A person's last key must be this long ago. Absent: 2,000. */
  readonly quietMs?: number;
}

export type DeliveryDecision =
  | { readonly type: "deliver" }
  | { readonly type: "wait" }
  | { readonly type: "end"; readonly outcome: NudgeOutcome; readonly error: string };

const DELIVER: DeliveryDecision = { type: "deliver" };
const WAIT: DeliveryDecision = { type: "wait" };
const end = (outcome: NudgeOutcome, error: string): DeliveryDecision => ({ type: "end", outcome, error });

const LEFTOVER = "an earlier message may still be in the prompt: clear it with a key, or restart the agent";
const UNDRAWN =
  "an earlier message was typed, and the agent has drawn nothing since: it is hanging, so nothing more is typed";
/** A program that never proves idle counts as idle after this long without output. */
const UNPROVABLE_QUIET_MS = 2000;

type Check = (candidate: Candidate, now: Situation) => DeliveryDecision | undefined;

/** The first check that returns a decision counts. */
const CHECKS: readonly Check[] = [
  (c) => (c.expired ? end("expired", "its time to live ended before it could be typed") : undefined),

  // There is no agent, and no restart is due.
  (_, s) => (s.state === "stopping" ? end("agent-dead", "the agent is being stopped") : undefined),
  (_, s) => (s.state === "dead" && !s.restartDue ? end("agent-dead", "the agent has ended") : undefined),
  // A crash loop tries again after a while: held messages wait for it, a caller does not.
  (c, s) => (s.state === "crash-loop" && !c.parked ? end("agent-dead", "the agent keeps crashing") : undefined),
  (_, s) => (s.state === "dead" || s.state === "crash-loop" || s.state === "starting" ? WAIT : undefined),

  // A dialog or a person comes first: a caller gets an answer, a held message waits.
  (c, s) => (s.state === "dialog" ? (c.parked ? WAIT : end("blocked-by-dialog", "a dialog is open")) : undefined),
  (c, s) => (isAtTheKeys(c, s) ? (c.parked ? WAIT : end("composer-busy", "a person is typing")) : undefined),
  // Type nothing while an earlier text is undrawn: the composer would join the two.
  (c, s) => {
    if (s.undrawn !== true) return undefined;
    return c.mode === "immediate" && !c.parked ? end("composer-busy", UNDRAWN) : WAIT;
  },
  (_, s) => (s.draft && s.justSubmitted === true ? WAIT : undefined),
  (c, s) =>
    s.draft ? (c.parked ? WAIT : end("composer-busy", "the composer holds text that is not ours")) : undefined,

  (c, s) => (s.leftover === true ? (c.parked ? WAIT : end("composer-busy", LEFTOVER)) : undefined),

  // No place to type into: an unknown screen may be anything.
  (_, s) => (!s.composerSeen && !s.idleIsUnprovable ? WAIT : undefined),

  // A composer that is drawn for the first time may not take anything yet.
  (_, s) => (s.unproven === true && s.state === "uncertain" ? WAIT : undefined),
  (c) => (c.mode === "immediate" ? DELIVER : undefined),
  (_, s) => (s.state === "idle" ? DELIVER : undefined),
  (_, s) => (s.idleIsUnprovable && s.state === "uncertain" && s.quietMs >= UNPROVABLE_QUIET_MS ? DELIVER : undefined),
];

/** Beyond the quiet time any key counts, Enter too. */
export function isAtTheKeys(
  { quietMs = QUIET_DEFAULT_MS }: Pick<Candidate, "quietMs">,
  { typing, personQuietMs }: Pick<Situation, "typing" | "personQuietMs">,
): boolean {
  return typing === true || (quietMs > QUIET_DEFAULT_MS && personQuietMs !== undefined && personQuietMs < quietMs);
}

/** Decides about one message now. Pure; called again whenever anything changes. */
export function decide(candidate: Candidate, now: Situation): DeliveryDecision {
  for (const check of CHECKS) {
    const decision = check(candidate, now);
    if (decision !== undefined) return decision;
  }
  return WAIT;
}
