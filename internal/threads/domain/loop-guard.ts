import { findingFingerprint, textHash } from "./fingerprint.ts";
import type { Policy } from "./policy.ts";
import type { GuardState, MemberKind, Metadata } from "./types.ts";

export type GuardRule = "no_progress" | "repeated_finding" | "repeated_text" | "hop_limit" | "runaway";

/** A message as the guard sees it. */
export interface GuardedMessage {
  readonly sender: string;
  readonly kind: MemberKind;
  readonly eventType?: string | undefined;
  readonly text: string;
  readonly metadata?: Metadata | undefined;
  readonly hop: number;
  /** Wall clock, ms. */
  readonly at: number;
}

export type GuardLimits = Pick<Policy, "turns" | "repeats" | "hops" | "runaway_per_hour">;

export const FRESH_GUARD: GuardState = { turns: 0, freshFindings: 0, findings: {}, refs: [], texts: [], times: [] };

const TEXTS = 20;
const HOUR_MS = 3_600_000;
const MAX_FINDINGS = 256;
const MAX_REFS = 256;
const MAX_FRESH_FINDINGS = 10;

/**
 * Counts one message. Returns the new state and the first rule that the message breaks. A person's message counts as
 * progress and breaks no rule.
 */
export function guard(
  before: GuardState,
  message: GuardedMessage,
  limits: GuardLimits,
): { readonly state: GuardState; readonly rule?: GuardRule } {
  const answered = answeredBy(before, message.sender);
  if (message.kind === "person") return { state: { ...answered, turns: 0, freshFindings: 0, texts: [] } };
  const finding = message.eventType === "finding_reported" ? reported(answered, message) : undefined;
  const isProgress = message.eventType === "decision" || isNewFix(before, message) || finding?.isFresh === true;
  const text = textHash(message.text);
  const state: GuardState = {
    ...answered,
    turns: isProgress ? 0 : before.turns + 1,
    freshFindings: before.freshFindings + (finding?.isFresh ? 1 : 0),
    findings: finding?.findings ?? answered.findings,
    refs: [...before.refs, ...refsOf(message)].slice(-MAX_REFS),
    texts: [...before.texts, [message.sender, text] as const].slice(-TEXTS),
    times: [...before.times.filter((time) => time > message.at - HOUR_MS), message.at].slice(-limits.runaway_per_hour),
  };
  const same = state.texts.filter(([sender, one]) => sender === message.sender && one === text).length;
  const rule = firstOf([
    ["repeated_finding", finding !== undefined && finding.cycles >= limits.repeats],
    ["repeated_text", same >= limits.repeats],
    ["no_progress", state.turns >= limits.turns],
    ["hop_limit", message.hop >= limits.hops],
    ["runaway", state.times.length >= limits.runaway_per_hour],
  ]);
  return rule === undefined ? { state } : { state: { ...state, blockedBy: "guard" }, rule };
}

/** The state with all counts at zero. The refs stay, so that a fix that was pushed before is not progress again. */
export function resetGuard({ refs }: GuardState): GuardState {
  return { ...FRESH_GUARD, refs };
}

function firstOf(rules: readonly (readonly [GuardRule, boolean])[]): GuardRule | undefined {
  return rules.find(([, broken]) => broken)?.[0];
}

/** Marks the findings of all senders but this one as answered. */
function answeredBy(state: GuardState, sender: string): GuardState {
  const entries = Object.entries(state.findings).map(
    ([key, one]) => [key, one.by === sender ? one : { ...one, answered: true }] as const,
  );
  return { ...state, findings: Object.fromEntries(entries) };
}

function reported({ findings, freshFindings }: GuardState, message: GuardedMessage) {
  const key = findingFingerprint("finding_reported", message.text, message.metadata);
  const known = Object.hasOwn(findings, key) ? findings[key] : undefined;
  const cycles = known === undefined ? 1 : known.cycles + (known.answered ? 1 : 0);
  const next = { ...findings, [key]: { cycles, by: message.sender, answered: false } };
  const kept = Object.fromEntries(Object.entries(next).slice(-MAX_FINDINGS));
  return { cycles, findings: kept, isFresh: known === undefined && freshFindings < MAX_FRESH_FINDINGS };
}

function refsOf({ eventType, metadata }: GuardedMessage): readonly string[] {
  if (eventType !== "fix_pushed") return [];
  return [metadata?.["commit"], metadata?.["ref"]].filter((one) => typeof one === "string" && one !== "") as string[];
}

function isNewFix(state: GuardState, message: GuardedMessage): boolean {
  return refsOf(message).some((ref) => !state.refs.includes(ref));
}
