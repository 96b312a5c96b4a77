import type { FileState, HookEvent, ScreenView } from "../../agents/profile.ts";
import type { AgentStateName, Evidence } from "../../session/types.ts";

/** All that is known about the agent at one moment. Times are monotonic milliseconds. */
export interface JudgeSignals {
  readonly process: ProcessSign;
  /** Since when `process` holds. */
  readonly processSince?: number;
  /** The agent's life so far: when it was started, and whether it ever showed that it takes messages. */
  readonly startedAt: number;
  readonly everReady: boolean;
  readonly hook?: { readonly event: HookEvent; readonly at: number } | undefined;
  readonly file?: { readonly state: FileState; readonly at: number } | undefined;
  readonly screen?: ScreenSign | undefined;
  readonly lastOutputAt?: number | undefined;
  /**
   * When the agent's processes were last seen to compute or write. They are checked only shortly before the agent would
   * count as stalled, and while it counts as stalled.
   */
  readonly lastWorkAt?: number | undefined;
  /** When the last text was typed. Until the agent prints something after it, the agent may be hanging. */
  readonly typedAt?: number | undefined;
  /** When our last message was submitted: earlier evidence that the agent is idle does not count. */
  readonly submittedAt?: number | undefined;
}

export interface ScreenSign {
  readonly view: ScreenView;
  /** When the profile's reading of the screen last changed. */
  readonly since: number;
  /**
   * When anything around the composer last changed: a working agent moves something there, even if its wording is
   * unknown.
   */
  readonly stillSince: number;
  readonly idleProof: "screen" | "silence";
}

export type ProcessSign =
  /** The agent's process has not been observed yet. */
  | { readonly type: "expected" }
  | { readonly type: "alive" }
  | { readonly type: "stopping" }
  /** `restartDue`: the agent will be started again. */
  | { readonly type: "dead"; readonly restartDue: boolean; readonly crashLoop: boolean };

export interface Verdict {
  readonly state: AgentStateName;
  readonly evidence: readonly Evidence[];
  /** Monotonic time at which the verdict may change without any new signal. */
  readonly reconsiderAt?: number;
  /** The monotonic time at which a busy agent, or one that draws nothing, counts as stalled. */
  readonly stallsAt?: number | undefined;
}

export interface JudgeOptions {
  /** An agent that is busy without output or work for this long is `stalled`. */
  readonly stallAfterMs: number;
}

/**
 * Without other evidence, an agent is idle only after its screen has shown no busy mark and no movement for this long:
 * agents show no mark for up to 900 ms between steps, and a working agent whose mark is not recognised still moves
 * something.
 */
const SCREEN_IDLE_MS = 1500;
/** An unknown program that shows nothing is taken to have started after this long. */
const SILENT_START_MS = 5000;
/** An agent that reported its start but shows no composer for this long is `uncertain`, no longer `starting`. */
const BEGINNING_MS = 10_000;
/** A state file lags behind the agent by up to half a second, and is only written on changes. */
export const FILE_LAG_MS = 2000;
/** A hook's "waiting" counts for this long; after that the screen or the file must report it too. */
const WAITING_HOOK_MS = 1500;
/** An agent that has not drawn a typed text within this time may be hanging. */
const UNDRAWN_MS = 500;
/**
 * A hook's report of work is no longer trusted if nothing else confirms it for this long: an interrupted turn ends
 * without a hook.
 */
const LONELY_HOOK_MS = 5000;
/**
 * After such a report the screen alone shows that the agent is idle only if nothing has moved for this long: a counter
 * of seconds would have moved.
 */
const STILL_AFTER_HOOK_MS = 5000;

/**
 * Derives the agent's state from all evidence; pure. The strongest source wins. The screen alone may raise an alarm
 * (dialog, busy), but it overrules a hook's report of work only if that is old and nothing moves.
 */
export function judge(signals: JudgeSignals, now: number, options: JudgeOptions): Verdict {
  const { process } = signals;
  const heldMs = now - (signals.processSince ?? now);
  if (process.type === "dead") return judgeDead(process, heldMs);
  if (process.type === "expected") return verdict("starting", "process", "it has not been seen yet", "weak", 0);
  if (process.type === "stopping") return verdict("stopping", "process", "it was asked to stop", "proof", heldMs);
  return (
    judgeWaiting(signals, now) ??
    judgeStarting(signals, now) ??
    judgeBusy(signals, now, options) ??
    judgeUndrawn(signals, now, options) ??
    untilUndrawn(signals, now, judgeIdle(signals, now) ?? uncertain(signals, now))
  );
}

function judgeDead(process: ProcessSign & { readonly type: "dead" }, ageMs: number): Verdict {
  if (process.crashLoop)
    return verdict("crash-loop", "process", "it keeps ending soon after its start", "proof", ageMs);
  if (process.restartDue) return verdict("starting", "process", "it ended; it is being restarted", "proof", ageMs);
  return verdict("dead", "process", "it ended", "proof", ageMs);
}

/**
 * The agent waits for a person, or for a limit to end. One source is enough for a dialog: a false alarm only delays a
 * message, but a message that is typed into a missed dialog answers it.
 */
function judgeWaiting({ screen, file, hook }: JudgeSignals, now: number): Verdict | undefined {
  if (screen?.view.dialog !== undefined) {
    return verdict("dialog", "screen", `${screen.view.dialog.kind} dialog`, "strong", now - screen.since);
  }
  if (file?.state.type === "waiting")
    return verdict("dialog", "agent-file", "it is waiting for a person", "strong", now - file.at);
  if (hook?.event.type === "waiting" && now - hook.at < WAITING_HOOK_MS) {
    const until = { reconsiderAt: hook.at + WAITING_HOOK_MS };
    return { ...verdict("dialog", "hook", "it is waiting for a person", "strong", now - hook.at), ...until };
  }
  if (screen?.view.parked !== undefined)
    return verdict("parked", "screen", "it is waiting for a limit to end", "strong", now - screen.since);
  return undefined;
}

function judgeStarting(signals: JudgeSignals, now: number): Verdict | undefined {
  const { everReady, hook, file } = signals;
  const begunAt = hook?.event.type === "session-start" ? hook.at : undefined;
  if (everReady || (hook !== undefined && begunAt === undefined)) return undefined;
  if (file !== undefined && (begunAt === undefined || file.state.type !== "idle")) return undefined;
  const starting = verdict(
    "starting",
    "process",
    "it has not yet shown that it accepts messages",
    "strong",
    now - signals.startedAt,
  );
  if (begunAt !== undefined) {
    const until = begunAt + BEGINNING_MS;
    return now < until ? { ...starting, reconsiderAt: until } : undefined;
  }
  if (signals.screen?.idleProof !== "silence") return starting;
  // Text typed before an unknown program shows anything goes to the terminal itself, and is lost when the program
  // begins to read.
  const until = signals.startedAt + SILENT_START_MS;
  return now < until ? { ...starting, reconsiderAt: until } : undefined;
}

function judgeBusy(signals: JudgeSignals, now: number, options: JudgeOptions): Verdict | undefined {
  const evidence = busyEvidence(signals, now);
  if (evidence === undefined) return undefined;
  const quietSince = Math.max(
    signals.lastOutputAt ?? signals.startedAt,
    signals.lastWorkAt ?? 0,
    signals.submittedAt ?? 0,
    signals.hook?.at ?? 0,
  );
  const stalledAt = quietSince + options.stallAfterMs;
  if (now >= stalledAt) return { state: "stalled", evidence: [evidence], stallsAt: stalledAt };
  const lonelyAt = evidence.source === "hook" ? (signals.hook?.at ?? now) + LONELY_HOOK_MS : stalledAt;
  const reconsiderAt =
    evidence.source === "output" ? (signals.submittedAt ?? now) + SCREEN_IDLE_MS : Math.min(stalledAt, lonelyAt);
  return {
    state: "busy",
    evidence: [evidence],
    reconsiderAt: reconsiderAt > now ? reconsiderAt : stalledAt,
    stallsAt: stalledAt,
  };
}

function busyEvidence(signals: JudgeSignals, now: number): Evidence | undefined {
  const { screen, file, hook, submittedAt } = signals;
  if (file?.state.type === "busy" && !hasOnlyBackgroundWork(signals))
    return sign("agent-file", "it says busy", "strong", now - file.at);
  if (screen?.view.busy !== undefined) return sign("screen", "busy mark", "strong", now - screen.since);
  if (hook !== undefined && isBusyEvent(hook.event)) {
    const doubted = file?.state.type === "idle" && file.at > hook.at;
    // A file that has reported idle since before the hook does not confirm the hook: a turn may end before the file
    // reports it as busy.
    const lonely = now - hook.at >= LONELY_HOOK_MS && screen?.view.composer !== undefined;
    if (!doubted && !lonely) return sign("hook", hook.event.type, "strong", now - hook.at);
  }
  const justSubmitted = submittedAt !== undefined && now - submittedAt < SCREEN_IDLE_MS;
  if (justSubmitted && !turnEndedSince(submittedAt, hook, file)) {
    return sign("output", "a message was submitted", "weak", now - submittedAt);
  }
  return undefined;
}

/**
 * True if the turn has ended and the file says busy only because of background work: the hook at the end of the turn
 * listed that work, or the screen shows, in place of the busy mark, that the agent waits for sub-agents.
 */
function hasOnlyBackgroundWork({ screen, hook, submittedAt = Number.NEGATIVE_INFINITY }: JudgeSignals): boolean {
  if (screen?.view.composer === undefined || screen.view.busy !== undefined) return false;
  const { background = [] } = screen.view;
  if (background.some(({ kind, count }) => kind === "subagent" && count > 0)) return true;
  if (hook?.event.type !== "turn-ended" || hook.at < submittedAt) return false;
  return (hook.event.background ?? []).some(({ kind }) => kind !== "shell");
}

function isBusyEvent(event: HookEvent): boolean {
  return event.type === "prompt-submitted" || event.type === "activity";
}

function turnEndedSince(since: number, hook: JudgeSignals["hook"], file: JudgeSignals["file"]): boolean {
  if (hook?.event.type === "turn-ended" && hook.at >= since) return true;
  return file?.state.type === "idle" && file.at >= since;
}

/** A typed text has not been drawn: earlier evidence that the agent is idle does not count. */
function judgeUndrawn(
  { typedAt, lastOutputAt }: JudgeSignals,
  now: number,
  options: JudgeOptions,
): Verdict | undefined {
  if (typedAt === undefined || (lastOutputAt ?? Number.NEGATIVE_INFINITY) > typedAt) return undefined;
  if (now < typedAt + UNDRAWN_MS) return undefined;
  const stallsAt = typedAt + options.stallAfterMs;
  const evidence = sign("output", "it has drawn nothing since a message was typed", "strong", now - typedAt);
  if (now >= stallsAt) return { state: "stalled", evidence: [evidence], stallsAt };
  return { state: "uncertain", evidence: [evidence], reconsiderAt: stallsAt, stallsAt };
}

/** Makes `other` due again when a missing echo starts to count: an echo takes some milliseconds. */
function untilUndrawn({ typedAt }: JudgeSignals, now: number, other: Verdict): Verdict {
  const from = (typedAt ?? Number.NEGATIVE_INFINITY) + UNDRAWN_MS;
  return now < from ? { ...other, reconsiderAt: Math.min(from, other.reconsiderAt ?? from) } : other;
}

function judgeIdle(signals: JudgeSignals, now: number): Verdict | undefined {
  const { screen, hook, file, submittedAt = Number.NEGATIVE_INFINITY } = signals;
  // Idle means that a message can be typed, which needs a composer on the screen.
  if (screen?.idleProof === "screen" && screen.view.composer === undefined) return undefined;
  if (hook?.event.type === "turn-ended" && hook.at >= submittedAt) {
    return verdict("idle", "hook", "the turn ended", "strong", now - hook.at);
  }
  if (file?.state.type === "idle" && (file.at >= submittedAt || now - submittedAt > FILE_LAG_MS)) {
    return verdict("idle", "agent-file", "it says idle", "strong", now - file.at);
  }
  return screen?.idleProof === "screen" ? judgeStill(screen, signals, now) : undefined;
}

/** Idle by the screen alone. After a hook's report of work, nothing may have moved for longer than otherwise. */
function judgeStill(screen: ScreenSign, { hook, submittedAt = 0 }: JudgeSignals, now: number): Verdict {
  // A screen that shows a wait for sub-agents counts the seconds: that movement is not a sign of work.
  const agents = screen.view.background?.some(({ kind }) => kind === "subagent");
  const since = agents ? screen.since : Math.max(screen.since, screen.stillSince);
  const denied = hook !== undefined && isBusyEvent(hook.event);
  const idleAt = denied
    ? Math.max(since, submittedAt, hook.at) + STILL_AFTER_HOOK_MS
    : Math.max(since, submittedAt) + SCREEN_IDLE_MS;
  if (now >= idleAt)
    return verdict("idle", "screen", "a composer, no sign of work, and nothing moves", "weak", now - since);
  const value = "a composer and no sign of work, but not for long";
  return { ...verdict("uncertain", "screen", value, "weak", now - since), reconsiderAt: idleAt };
}

function uncertain(signals: JudgeSignals, now: number): Verdict {
  const since = Math.max(signals.lastOutputAt ?? signals.startedAt, signals.startedAt);
  return verdict("uncertain", "output", "no source distinguishes busy from idle", "weak", now - since);
}

function sign(source: Evidence["source"], value: string, confidence: Evidence["confidence"], ageMs: number): Evidence {
  return { source, value, confidence, ageMs: Math.max(0, Math.round(ageMs)) };
}

function verdict(
  state: AgentStateName,
  source: Evidence["source"],
  value: string,
  confidence: Evidence["confidence"],
  ageMs: number,
): Verdict {
  return { state, evidence: [sign(source, value, confidence, ageMs)] };
}
