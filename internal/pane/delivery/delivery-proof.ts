import type { Evidence } from "../../session/types.ts";
import { type Attempt, type DeliveryEnd, LOOK_MS } from "./delivery-attempt.ts";
import { Patience } from "./patience.ts";
import { ComposerProbe, type Probe } from "./probe.ts";

/**
 * How long a receipt waits for a hook's report, which is stronger evidence than the screen and usually arrives a little
 * later.
 */
const HOOK_GRACE_MS = 40;
/**
 * The same if the screen does not show the accepted text alone: then only the hook's report can show whether a person's
 * keys were submitted with it.
 */
const UNSEEN_GRACE_MS = 1000;
/**
 * A half-drawn screen may show an older text right after this one, so more text after this one counts only if every
 * look during this time shows it.
 */
const MORE_MS = 500;
/** The longest line that a terminal keeps for a program that reads line by line. */
const LINE_MAX_BYTES = process.platform === "linux" ? 4095 : 1023;

/**
 * An agent that has just started may redraw its screen and drop the text in its composer, so an empty composer proves
 * nothing. An agent that reports the messages it takes gets this long to report the first.
 */
export const FIRST_GRACE_MS = 3000;

/** The agent's own report that it took this text. */
export function hookProof({ deps, job }: Attempt, since: number): Evidence | undefined {
  const taken = deps.signs.promptTakenSince(since);
  if (taken === undefined) return undefined;
  if (taken.prompt !== undefined && !deps.sameText(taken.prompt, job.text)) return undefined;
  const value = taken.prompt === undefined ? "the agent accepted a message" : "the agent accepted this text";
  const ageMs = Math.round(deps.clock.monotonicMs() - taken.at);
  return { source: "hook", value, ageMs, confidence: taken.prompt === undefined ? "strong" : "proof" };
}

const DROPPED = "it left the composer, but the agent had just started and did not report that it accepted it";

/** The screen's evidence when the screen or the agent's own report has shown that the agent has the text. */
export interface Leaving {
  /** The screen shows that the text is no longer in the composer; false: only the agent's report shows it. */
  readonly left: boolean;
  readonly busy: boolean;
  /** How the screen showed that. */
  readonly value?: string;
}

/**
 * Ends the delivery of a submitted text: gathers the evidence that the agent took it, and looks for a person's keys
 * that went with it.
 */
export async function confirm(
  attempt: Attempt,
  probe: Probe,
  { left, busy, value = "it left the composer" }: Leaving,
): Promise<DeliveryEnd> {
  const { clock, signs, source } = attempt.deps;
  const since = attempt.submittedAt;
  const confirmedMs = attempt.elapsed();
  const isFirst = !signs.hasReported();
  const grace = {
    alone: clock.monotonicMs() + HOOK_GRACE_MS,
    unseen: new Patience(clock, isFirst ? FIRST_GRACE_MS : UNSEEN_GRACE_MS),
  };
  const more = new Patience(clock, MORE_MS);
  let hook = hookProof(attempt, since);
  while (hook === undefined) {
    const repeated = left ? await repeatedAs(attempt, probe) : "alone";
    if (repeated !== "more") more.renew();
    if ((repeated === "more" && more.isOver()) || tookMore(attempt, since)) {
      return attempt.end("unknown", "the agent accepted it together with something else");
    }
    const isUnseen = grace.unseen.isOver();
    const late = repeated === "alone" ? clock.monotonicMs() >= grace.alone : isUnseen;
    if (repeated !== "more") {
      if (!signs.reportsPrompts()) break;
      if (late && repeated !== "alone" && isFirst) return attempt.end("unknown", DROPPED);
      if (late) break;
    }
    await source.changed(LOOK_MS, attempt.signal);
    hook = hookProof(attempt, since);
  }
  const doubt = hook === undefined ? doubtAbout(attempt) : undefined;
  if (doubt !== undefined) return attempt.end("unknown", `it left the prompt; ${doubt}`);
  const evidence: Evidence[] = hook === undefined ? [] : [hook];
  if (left) evidence.push({ source: "screen", value, ageMs: 0, confidence: "strong" });
  if (busy) evidence.push({ source: "screen", value: "the agent is working", ageMs: 0, confidence: "weak" });
  return { ...attempt.end("submitted", "", evidence), confirmedMs };
}

/**
 * True if the agent reports that it took our text together with something else: a person's keys that no screen had
 * shown yet.
 */
function tookMore({ deps, job }: Attempt, since: number): boolean {
  const prompt = deps.signs.promptTakenSince(since)?.prompt;
  if (prompt === undefined) return false;
  // The report may be of a text that the agent held until now, even of one that differs from ours only by a number.
  if ([job.text, ...(job.typedBefore ?? [])].some((text) => deps.sameText(prompt, text))) return false;
  const presence = new ComposerProbe(job.text).presenceOf({ text: prompt, pasteMarkers: 0 });
  // On a screen, `worn` may mean that the terminal lost letters of our text. A report loses none: there, it means that
  // the text was changed.
  return presence === "mixed" || presence === "worn";
}

/**
 * The reason why a line-based program that cleared its prompt may have received the text in pieces, or only in part;
 * undefined if there is none.
 */
function doubtAbout({ deps, job }: Attempt): string | undefined {
  if (deps.profile.idleProof === "screen") return undefined;
  const lines = job.text.split("\n");
  if (lines.length > 1) return "the program may have read each line of the text separately";
  // The terminal echoes on the screen even the bytes that it then drops.
  if (Buffer.byteLength(job.text) > LINE_MAX_BYTES) return "the terminal may have cut a line of this length";
  return undefined;
}

export async function repeatedAs({ deps, signal }: Attempt, probe: Probe): Promise<"alone" | "more" | "unseen"> {
  if (!(probe instanceof ComposerProbe)) return "unseen";
  const screen = await deps.source.current(signal);
  return probe.repeated(screen, deps.profile.view(screen));
}
