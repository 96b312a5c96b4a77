import { type Attempt, type DeliveryEnd, LOOK_MS, type Look, MIXED } from "./delivery-attempt.ts";
import { isAway } from "./delivery-paste.ts";
import { confirm, FIRST_GRACE_MS, hookProof, repeatedAs } from "./delivery-proof.ts";
import { whyNotTyped } from "./not-typed.ts";
import { Patience } from "./patience.ts";
import type { Presence, Probe } from "./probe.ts";

/**
 * How long one Enter may take to show its effect. Even a program that drops an Enter gets this long: an earlier second
 * Enter could act on whatever the first one opened.
 */
const ENTER_MS = 1000;
const MAX_ENTERS = 3;
/**
 * How long to wait for an agent that has neither read an Enter nor drawn anything since: another Enter would be one too
 * many.
 */
const HANGS_MS = 4000;
/** The same for the first message in an agent's life: while it starts, OpenCode takes three times as long. */
const FIRST_HANGS_MS = 3 * HANGS_MS;
/**
 * If an agent reports the messages it takes, it may show no composer for this long after an Enter, as while it changes
 * screens.
 */
const COVERED_MS = 10_000;
const UNREAD_LOOK_MS = 50;
const UNREAD = "Enter was pressed, but the agent has neither read it nor drawn anything since: it may still accept it";
const COVERED = "Enter was pressed, and the composer is no longer visible";
/** How long a moving cursor keeps tmux from pressing Enter; then tmux presses it wherever the cursor is. */
const CURSOR_MS = 300;
/**
 * A program that is preempted while it draws shows half of a screen, with no composer or a part of one. So a text
 * counts as gone, covered or changed when no look during this time shows it whole.
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
 * Presses Enter once, when the composer holds this text and nothing else. tmux presses it only while its own cursor is
 * where we saw it, because tmux knows of a dialog before the output has reached us; but a cursor that moves for
 * CURSOR_MS is ignored.
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
      // If Enter was pressed before and a slow agent read it late, this text may have opened the dialog.
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

/**
 * Waits until the agent has read the Enter or drawn something since, then for its effect. Undefined if the text is
 * still in the composer.
 */
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

/** Waits for the effect of an Enter. Undefined if the text is still in the composer. */
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
    // A dialog may cover the composer before we see it empty; the agent then repeats the text above the dialog. Without
    // a dialog, what looks repeated may be a half-drawn composer.
    const mayRepeat = presence === "hidden" && attempt.isSubmitted && (dialog || (isGone && (await isRead(attempt))));
    if (mayRepeat && (await repeatedAs(attempt, probe)) === "alone") {
      return confirm(attempt, probe, { left: true, busy, value: "the agent repeats it" });
    }
    // The agent may report before it redraws. Wait, so that the old drawing is not taken for a draft.
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

/**
 * True if the agent may still report that it took the text. One that has ended has no terminal whose unread bytes can
 * be counted.
 */
async function mayReport({ deps }: Attempt, begunAt: number): Promise<boolean> {
  const { clock, signs, writer } = deps;
  const isInTime = clock.monotonicMs() < begunAt + COVERED_MS;
  return isInTime && signs.reportsPrompts() && (await writer.unread()) !== undefined;
}
