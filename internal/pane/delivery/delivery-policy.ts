import { QUIET_DEFAULT_MS } from "../../session/nudge-request.ts";
import type { AgentStateName, NudgeMode, NudgeOutcome } from "../../session/types.ts";

/** The input of a decision about one message. */
export interface Situation {
  readonly state: AgentStateName;
  /** True if a restart will be tried: the state `dead` is then only a pause. */
  readonly restartDue: boolean;
  /** A place to type into is on the screen. */
  readonly composerSeen: boolean;
  /** A text that is not ours is in the composer. */
  readonly draft: boolean;
  /** A person at an attached terminal is typing. */
  readonly typing?: boolean;
  /** Milliseconds since a person's last key of any kind; absent: none yet. */
  readonly personQuietMs?: number | undefined;
  /** A message of ours was submitted a moment ago: the composer may still show the old drawing of it. */
  readonly justSubmitted?: boolean;
  /** In this life no source has shown yet that the agent is idle or working, although the agent can prove it. */
  readonly unproven?: boolean;
  /** An earlier message of ours may be in a prompt that cannot be read. */
  readonly leftover?: boolean;
  /** The text typed last has not been drawn, or not been read: the agent may hang. */
  readonly undrawn?: boolean;
  /** Idle cannot be proved for this agent: type into it when it is quiet. */
  readonly idleUnprovable: boolean;
  /** Milliseconds since the last output. */
  readonly quietMs: number;
}

export interface Candidate {
  readonly mode: NudgeMode;
  /** The caller has its answer, QUEUED: the message waits until its time to live ends. */
  readonly parked: boolean;
  readonly expired: boolean;
  /** A person's last key must be at least this long ago. Absent: 2,000. */
  readonly quietMs?: number;
}

/** The decision about a message. `check`: the name of the check that holds or ends it, for logs and metrics. */
export type DeliveryDecision =
  | { readonly type: "deliver" }
  | { readonly type: "wait"; readonly check: string }
  | { readonly type: "end"; readonly check: string; readonly outcome: NudgeOutcome; readonly error: string };

type Verdict =
  | { readonly type: "deliver" | "wait" }
  | { readonly type: "end"; readonly outcome: NudgeOutcome; readonly error: string };

/** Returns a verdict, or undefined. Later checks rely on what earlier ones have ruled out. */
interface Check {
  readonly name: string;
  readonly check: (candidate: Candidate, now: Situation) => Verdict | undefined;
}

const DELIVER: Verdict = { type: "deliver" };
const WAIT: Verdict = { type: "wait" };
const end = (outcome: NudgeOutcome, error: string): Verdict => ({ type: "end", outcome, error });

const LEFTOVER = "an earlier message may still be in the prompt: clear it with a key, or restart the agent";
const UNDRAWN =
  "an earlier message was typed, and the agent has drawn nothing since: it is hanging, so nothing more is typed";
/** A program whose screen never shows that it is idle counts as idle after this long without output. */
const UNPROVABLE_QUIET_MS = 2000;

const expired: Check = {
  name: "expired",
  check: (c) => (c.expired ? end("expired", "its time to live ended before it could be typed") : undefined),
};

const stopping: Check = {
  name: "stopping",
  check: (_, s) => (s.state === "stopping" ? end("agent-dead", "the agent is being stopped") : undefined),
};

const ended: Check = {
  name: "ended",
  check: (_, s) => (s.state === "dead" && !s.restartDue ? end("agent-dead", "the agent has ended") : undefined),
};

/** An agent in a crash loop is started again after a while: held messages wait for that, a caller does not. */
const crashing: Check = {
  name: "crashing",
  check: (c, s) => (s.state === "crash-loop" && !c.parked ? end("agent-dead", "the agent keeps crashing") : undefined),
};

const restarting: Check = {
  name: "restarting",
  check: (_, s) => (s.state === "dead" || s.state === "crash-loop" || s.state === "starting" ? WAIT : undefined),
};

/** A dialog or a person comes first: a caller gets an answer, a held message waits. */
const dialog: Check = {
  name: "dialog",
  check: (c, s) => {
    if (s.state !== "dialog") return undefined;
    return c.parked ? WAIT : end("blocked-by-dialog", "a dialog is open");
  },
};

const person: Check = {
  name: "person",
  check: (c, s) => {
    if (!isAtTheKeys(c, s)) return undefined;
    return c.parked ? WAIT : end("composer-busy", "a person is typing");
  },
};

/** Type nothing while an earlier text is undrawn: the composer would join the two. */
const undrawn: Check = {
  name: "undrawn",
  check: (c, s) => {
    if (s.undrawn !== true) return undefined;
    return c.mode === "immediate" && !c.parked ? end("composer-busy", UNDRAWN) : WAIT;
  },
};

/** Right after a message of ours, a draft may be an old drawing of it. */
const oldDrawing: Check = {
  name: "old-drawing",
  check: (_, s) => (s.draft && s.justSubmitted === true ? WAIT : undefined),
};

const draft: Check = {
  name: "draft",
  check: (c, s) => {
    if (!s.draft) return undefined;
    return c.parked ? WAIT : end("composer-busy", "the composer holds text that is not ours");
  },
};

const leftover: Check = {
  name: "leftover",
  check: (c, s) => {
    if (s.leftover !== true) return undefined;
    return c.parked ? WAIT : end("composer-busy", LEFTOVER);
  },
};

/** An unknown screen may be anything. */
const noComposer: Check = {
  name: "no-composer",
  check: (_, s) => (!s.composerSeen && !s.idleUnprovable ? WAIT : undefined),
};

/** A composer that has just been drawn for the first time may not be ready for input yet. */
const unproven: Check = {
  name: "unproven",
  check: (_, s) => (s.unproven === true && s.state === "uncertain" ? WAIT : undefined),
};

/** Nothing is in the way. A message waits until the agent is idle, unless it is to be typed at once. */
const busy: Check = {
  name: "busy",
  check: (c, s) => {
    if (c.mode === "immediate" || s.state === "idle") return DELIVER;
    const isQuiet = s.idleUnprovable && s.state === "uncertain" && s.quietMs >= UNPROVABLE_QUIET_MS;
    return isQuiet ? DELIVER : WAIT;
  },
};

/** The first check that returns a verdict counts. */
const NO_AGENT = [stopping, ended, crashing, restarting];
const COMPOSER = [dialog, person, undrawn, oldDrawing, draft, leftover, noComposer, unproven];
const CHECKS: readonly Check[] = [expired, ...NO_AGENT, ...COMPOSER, busy];

/** If the message asks for more quiet time than the default, any key within that time counts, Enter included. */
export function isAtTheKeys(
  { quietMs = QUIET_DEFAULT_MS }: Pick<Candidate, "quietMs">,
  { typing, personQuietMs }: Pick<Situation, "typing" | "personQuietMs">,
): boolean {
  return typing === true || (quietMs > QUIET_DEFAULT_MS && personQuietMs !== undefined && personQuietMs < quietMs);
}

/** Decides about one message now. Pure; called again whenever anything changes. */
export function decide(candidate: Candidate, now: Situation): DeliveryDecision {
  for (const { name, check } of CHECKS) {
    const verdict = check(candidate, now);
    if (verdict?.type === "deliver") return { type: "deliver" };
    if (verdict?.type === "wait") return { type: "wait", check: name };
    if (verdict?.type === "end") return { ...verdict, check: name };
  }
  return { type: "wait", check: busy.name };
}
