import type { Screen } from "../../agents/screen.ts";
import { waitForQuiet } from "../screen/screen-source.ts";
import {
  Attempt,
  type DeliveryDeps,
  type DeliveryEnd,
  type DeliveryJob,
  type DeliveryResult,
  LOOK_MS,
  type Look,
  MIXED,
} from "./delivery-attempt.ts";
import { dropBuffer, isBufferThere, pasteText } from "./delivery-paste.ts";
import { confirm, hookProof } from "./delivery-proof.ts";
import { submitText } from "./delivery-submit.ts";
import { Patience } from "./patience.ts";
import { ComposerProbe, type Probe, TailProbe } from "./probe.ts";
import { isResidue } from "./residue.ts";

/** The echo of a paste must show within this time, or Enter is never pressed. */
const ECHO_MS = 4000;
/** How long output may keep the screen busy before Enter is pressed all the same. */
const SETTLE_CAP_MS = 400;
const HANGS = "it was typed but not submitted: the agent is hanging, and has drawn nothing since";
/** How long to look for a recovered text; longer while the agent has not read everything that was typed. */
const RECOVER_MS = 1000;

/**
 * Types one text and submits it: stage, paste, see it in the composer, wait until the screen is quiet, press Enter, see
 * it leave. Presses Enter only on a composer that holds this text and nothing else, and again only while that is still
 * so. Nothing else may write to the pane meanwhile.
 */
export async function deliver(deps: DeliveryDeps, job: DeliveryJob, signal: AbortSignal): Promise<DeliveryResult> {
  const attempt = new Attempt(deps, job, signal);
  const before = await deps.source.current(signal);
  const obstacle = obstacleOn(before, deps);
  if (obstacle !== undefined) return { type: "retry", reason: obstacle };
  const { profile, source, clock } = deps;
  const probe: Probe =
    profile.idleProof === "screen"
      ? new ComposerProbe(job.text, before, deps.residue)
      : new TailProbe(job.text, before);
  const notTyped = await pasteText(attempt);
  if (notTyped !== undefined) return notTyped;
  attempt.pasted();
  const pastedMs = attempt.elapsed();

  const echo = await awaitEcho(attempt, probe);
  if (echo.presence !== "there") return withoutEcho(attempt, echo);
  attempt.typed();
  // The slower the agent is to show a text, the slower it is to show the consequences, such as a dialog.
  const settleMs = Math.max(profile.settleMs, Math.min((attempt.elapsed() - pastedMs) / 2, SETTLE_CAP_MS));
  await waitForQuiet(source, settleMs, Math.max(SETTLE_CAP_MS, settleMs), clock, signal);
  return submitText(attempt, probe);
}

/**
 * Judges an attempt of an earlier process whose end was not observed. A buffer that still exists was never pasted
 * (`retry`); a text that the agent has reported is confirmed; a text that is alone in the composer is submitted now;
 * anything else is unknown.
 */
export async function recoverDelivery(
  deps: DeliveryDeps,
  job: DeliveryJob,
  signal: AbortSignal,
): Promise<DeliveryResult> {
  const attempt = new Attempt(deps, job, signal);
  if (await isBufferThere(attempt)) {
    await dropBuffer(attempt);
    return { type: "retry", reason: "it had not been typed yet" };
  }
  const unseen = "the sidecar was restarted while it was being typed";
  if (deps.profile.idleProof !== "screen") return attempt.leave("unknown", unseen);
  const probe = new ComposerProbe(job.text);
  const end = deps.clock.monotonicMs() + RECOVER_MS;
  for (;;) {
    // A hook line that was written while no process was reading waits in its FIFO.
    if (hookProof(attempt, Number.NEGATIVE_INFINITY)?.confidence === "proof") {
      return confirm(attempt, probe, { left: false, busy: false });
    }
    const { presence } = await attempt.look(probe);
    if (presence === "there") {
      attempt.typed();
      return submitText(attempt, probe);
    }
    const isLate = deps.clock.monotonicMs() >= end;
    if (isLate && ((await deps.writer.unread()) ?? 0) === 0) return attempt.leave("unknown", unseen);
    if (deps.clock.monotonicMs() >= end + ECHO_MS - RECOVER_MS)
      return attempt.leave("unknown", unseen, attempt.pastedAt);
    await deps.source.changed(LOOK_MS, signal);
  }
}

/** The caller judged an older screen; a dialog or a draft may have come since. */
function obstacleOn(screen: Screen, { profile, signs, residue = "" }: DeliveryDeps): string | undefined {
  if (signs.waitsForPerson()) return "the agent is waiting for a person";
  if (profile.idleProof !== "screen") return undefined;
  const { dialog, composer } = profile.view(screen);
  if (dialog !== undefined) return "a dialog is open";
  if (composer === undefined) return "no composer is on the screen";
  const isEmpty = composer.pasteMarkers === 0 && (composer.text === "" || isResidue(composer.text, residue));
  return isEmpty ? undefined : "the composer is not empty";
}

type Echo = Pick<Look, "presence" | "dialog">;

async function awaitEcho(attempt: Attempt, probe: Probe): Promise<Echo> {
  const time = new Patience(attempt.deps.clock, ECHO_MS);
  for (;;) {
    const { presence, dialog } = await attempt.look(probe);
    if (presence === "there" || dialog || time.isOver()) return { presence, dialog };
    await attempt.deps.source.changed(LOOK_MS, attempt.signal);
  }
}

function withoutEcho(attempt: Attempt, { presence, dialog }: Echo): DeliveryEnd {
  if (dialog) return attempt.leave("unknown", "a dialog opened while it was typed; it was not submitted");
  if (presence === "mixed") return attempt.leave("stranded", MIXED);
  const { pastedAt } = attempt;
  if (!attempt.hasDrawnSince(pastedAt)) return attempt.leave("unknown", HANGS, pastedAt);
  // The agent may have drawn something else since: the text may still appear.
  return attempt.leave("unknown", "it was typed but never appeared in the composer; it was not submitted", pastedAt);
}
