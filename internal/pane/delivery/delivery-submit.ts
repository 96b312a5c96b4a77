import { type Attempt, type DeliveryEnd, LOOK_MS, type Look, MIXED } from "./delivery-attempt.ts";
import { isAway } from "./delivery-paste.ts";
import { confirm, FIRST_GRACE_MS, hookProof, repeatedAs } from "./delivery-proof.ts";
import { whyNotTyped } from "./not-typed.ts";
import { Patience } from "./patience.ts";
import type { Presence, Probe } from "./probe.ts";

/**
 * How long one Enter may take to show its effect. It is not shorter for programs that drop one: a second Enter too
 * early would meet the effect of the first.
 */
const ENTER_MS = 1000;
const MAX_ENTERS = 3;
/**
 * How long to wait for an agent that has neither read an Enter nor drawn anything since: another Enter would be one too
 * many.
 */
const HANGS_MS = 4000;
/** The same for the first message in an agent's life: OpenCode, while it starts, takes three times as long for all. */
const FIRST_HANGS_MS = 3 * HANGS_MS;
/** How long an agent that reports the messages it takes may draw no composer after an Enter: another screen comes. */
const COVERED_MS = 10_000;
const UNREAD_LOOK_MS = 50;
const UNREAD = "Enter was pressed, but the agent has neither read it nor drawn anything since: it may still accept it";
const COVERED = "Enter was pressed, and the composer is no longer visible";
/** How long tmux is asked to press Enter only where the cursor was seen. */
const CURSOR_MS = 300;
/**
 * A program that loses its processor in the middle of a drawing shows half of it, without a composer or with a part of
 * one: a text that was there counts as gone, covered or changed only if every look during this time shows it.
 */
const UNSEEN_MS = 1000;

/** Presses Enter on a composer that holds this text and nothing else, and again only while that is still so. */
export async function submitText(attempt: Attempt, probe: Probe): Promise<DeliveryEnd> {
  let pressed = 0;
  for (let tries = 0; tries < MAX_ENTERS; tries++) {
    const press = await pressOnText(attempt, probe);
    if (press.type === "done") return press;
    if (press.type === "pressed") pressed++;
    const result = await awaitSubmitted(attempt, probe, press.at);
    if (result !== undefined) return result;
    const hangs = press.type === "pressed" ? await awaitRead(attempt, probe, press.at) : undefined;
    if (hangs !== undefined) return hangs;
  }
  if (pressed === 0) return attempt.leave("stranded", "the agent's terminal accepted no Enter");
  if (attempt.deps.signs.isNew()) {
    return attempt.leave(
      "unknown",
      `Enter was pressed ${pressed}× for an agent that had just started: it may still accept it`,
    );
  }
  return attempt.leave("stranded", `it is still in the composer: Enter was pressed ${pressed}× and did not submit it`);
}

/** `at`: monotonic milliseconds, right before the key. */
type Press = { readonly type: "pressed" | "refused"; readonly at: number } | DeliveryEnd;

/**
 * One Enter, if this text and nothing else is there. tmux presses it only while its own cursor is where it was seen,
 * because tmux knows of a dialog before the output has reached us. The wait for a moving cursor is short.
 */
async function pressOnText(attempt: Attempt, probe: Probe): Promise<Press> {
  const { clock, signs, source } = attempt.deps;
  const unseen = new Patience(clock, UNSEEN_MS);
  let movedAt: number | undefined;
  for (;;) {
    const now = await attempt.look(probe);
    const isGone = now.presence !== "there" && unseen.isOver();
    if (attempt.isSubmitted && now.presence === "absent" && (isGone || (await isRead(attempt)))) {
      return confirm(attempt, probe, { left: true, busy: now.busy });
    }
    if (now.dialog || signs.waitsForPerson()) {
      // After an Enter that a slow agent had still to read, the dialog may be this text's own.
      const result = attempt.isSubmitted ? await awaitSubmitted(attempt, probe, attempt.submittedAt) : undefined;
      return result ?? attempt.leave("stranded", "a dialog opened before it could be submitted");
    }
    if (now.presence === "there") {
      unseen.renew();
      const at = clock.monotonicMs();
      const isRestless = movedAt !== undefined && at >= movedAt + CURSOR_MS;
      const answer = await pressEnter(attempt, isRestless ? undefined : now.cursor);
      if (answer === "synchronized") return attempt.leave("stranded", whyNotTyped(answer));
      if (answer === "sent") attempt.submitted();
      if (answer !== "moved") return { type: answer === "sent" ? "pressed" : "refused", at };
      movedAt ??= at;
    } else if (isGone) return unsubmitted(attempt, now.presence);
    await source.changed(LOOK_MS, attempt.signal);
  }
}

function unsubmitted(attempt: Attempt, presence: Presence): DeliveryEnd {
  if (presence === "mixed") return attempt.leave("stranded", MIXED);
  if (presence === "absent") return attempt.end("unknown", "it left the composer before it was submitted");
  return attempt.leave(
    "unknown",
    attempt.isSubmitted ? COVERED : "the composer is no longer visible; it was not submitted",
  );
}

async function pressEnter({ deps }: Attempt, cursor: Look["cursor"] | undefined) {
  try {
    return await deps.writer.enter(cursor);
  } catch (err) {
    // The screen, which is examined next, shows whether it was pressed.
    if (!isAway(err)) throw err;
    return "sent";
  }
}

/** Undefined once the agent has read the Enter or drawn something since: the screen then shows its effect. */
async function awaitRead(attempt: Attempt, probe: Probe, pressedAt: number): Promise<DeliveryEnd | undefined> {
  const { clock, signs, source } = attempt.deps;
  const end = pressedAt + (signs.isNew() ? FIRST_HANGS_MS : HANGS_MS);
  if (await attempt.hasRead(pressedAt)) return undefined;
  for (;;) {
    if (await attempt.hasRead(pressedAt)) return awaitSubmitted(attempt, probe, pressedAt);
    if (clock.monotonicMs() < end) {
      await source.changed(UNREAD_LOOK_MS, attempt.signal);
      continue;
    }
    // If unread bytes cannot be counted, an agent that drew the text and dropped the Enter looks the same as one that
    // hangs.
    const isUnread = ((await attempt.deps.writer.unread()) ?? 0) > 0;
    return attempt.leave("unknown", UNREAD, isUnread ? pressedAt : undefined);
  }
}

/** Undefined when the text is proven to be in the composer still. */
async function awaitSubmitted(attempt: Attempt, probe: Probe, pressedAt: number): Promise<DeliveryEnd | undefined> {
  const { clock, signs, source } = attempt.deps;
  const begunAt = clock.monotonicMs();
  // An agent that is still starting takes its time: a second Enter would be one too many.
  const time = new Patience(clock, signs.isNew() ? FIRST_GRACE_MS : ENTER_MS);
  const unseen = new Patience(clock, UNSEEN_MS);
  for (;;) {
    const { presence, busy, dialog } = await attempt.look(probe);
    if (presence === "absent" && !attempt.isSubmitted) return unsubmitted(attempt, presence);
    const late = time.isOver();
    if (presence === "there") unseen.renew();
    const isGone = presence !== "there" && unseen.isOver() && late;
    if (presence === "absent" && (isGone || (await isRead(attempt)))) {
      return confirm(attempt, probe, { left: true, busy });
    }
    // A dialog came before the empty composer was seen; above it is the text as the agent repeats it. Without a dialog,
    // the repeated text may be the composer itself in half of a drawing.
    const mayRepeat = presence === "hidden" && attempt.isSubmitted && (dialog || (isGone && (await isRead(attempt))));
    if (mayRepeat && (await repeatedAs(attempt, probe)) === "alone") {
      return confirm(attempt, probe, { left: true, busy, value: "the agent repeats it" });
    }
    // The agent's report may come before its drawing: the old drawing must not be taken for a draft afterwards.
    const drawn = presence !== "there" && presence !== "partial";
    if ((drawn || late) && hookProof(attempt, pressedAt) !== undefined) {
      return confirm(attempt, probe, { left: false, busy });
    }
    if (late && presence === "there") return undefined;
    const waitsForReport = isGone && presence === "hidden" && !dialog && (await mayReport(attempt, begunAt));
    if (isGone && !waitsForReport) return attempt.leave("unknown", COVERED);
    await source.changed(isGone ? UNREAD_LOOK_MS : LOOK_MS, attempt.signal);
  }
}

/**
 * True if everything typed has been read, as far as that can be known. A composer that looks empty before its program
 * has read the Enter is only half drawn.
 */
async function isRead({ deps }: Attempt): Promise<boolean> {
  return ((await deps.writer.unread()) ?? 0) === 0;
}

/** An agent that has ended has no terminal to ask. */
async function mayReport({ deps }: Attempt, begunAt: number): Promise<boolean> {
  const { clock, signs, writer } = deps;
  const isInTime = clock.monotonicMs() < begunAt + COVERED_MS;
  return isInTime && signs.reportsPrompts() && (await writer.unread()) !== undefined;
}
