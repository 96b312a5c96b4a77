import { type Attempt, type DeliveryEnd, LOOK_MS, MIXED } from "./delivery-attempt.ts";
import { isAway } from "./delivery-paste.ts";
import { confirm, hookProof } from "./delivery-proof.ts";
import type { Probe, Standing } from "./probe.ts";

/**
 * How long one Enter may take to show its effect. It is not shorter for programs that drop one: a second Enter too early
 * would meet whatever came of the first.
 */
const ENTER_MS = 1000;
const MAX_ENTERS = 3;

/** Presses Enter on a composer that holds this text and nothing else, and again only while that is still so. */
export async function submitText(attempt: Attempt, probe: Probe): Promise<DeliveryEnd> {
  let pressed = 0;
  for (let tries = 0; tries < MAX_ENTERS; tries++) {
    const now = await attempt.look(probe);
    if (attempt.isSubmitted && now.standing === "absent") {
      return confirm(attempt, probe, { left: true, busy: now.busy });
    }
    if (now.dialog || attempt.deps.signs.waitsForPerson()) {
      return attempt.end("stranded", "a dialog opened before it could be submitted");
    }
    if (now.standing !== "there") return unsubmitted(attempt, now.standing);
    const pressedAt = attempt.deps.clock.monotonicMs();
    if (await pressEnter(attempt)) {
      attempt.submitted();
      pressed++;
    }
    const result = await awaitSubmitted(attempt, probe, pressedAt);
    if (result !== undefined) return result;
  }
  if (pressed === 0) return attempt.end("stranded", "the agent's terminal took no Enter");
  return attempt.end("stranded", `it stands in the composer: Enter was pressed ${pressed}× and did not submit it`);
}

function unsubmitted(attempt: Attempt, standing: Standing): DeliveryEnd {
  if (standing === "mixed") return attempt.end("stranded", MIXED);
  return attempt.end("unknown", "it left the composer before it was submitted");
}

/** False: certainly not. */
async function pressEnter({ deps }: Attempt): Promise<boolean> {
  try {
    return (await deps.writer.enter()) === "sent";
  } catch (err) {
    // Whether it was pressed shows on the screen, where it is looked for next.
    if (!isAway(err)) throw err;
    return true;
  }
}

/** Undefined when the text is proven to be in the composer still. */
async function awaitSubmitted(attempt: Attempt, probe: Probe, pressedAt: number): Promise<DeliveryEnd | undefined> {
  const { clock, source } = attempt.deps;
  const end = clock.monotonicMs() + ENTER_MS;
  for (;;) {
    const { standing, busy } = await attempt.look(probe);
    if (standing === "absent") {
      if (!attempt.isSubmitted) return unsubmitted(attempt, standing);
      return confirm(attempt, probe, { left: true, busy });
    }
    const late = clock.monotonicMs() >= end;
    // The agent's word may come before it draws: its old drawing must not be taken for a draft afterwards.
    const drawn = standing !== "there" && standing !== "partial";
    if ((drawn || late) && hookProof(attempt, pressedAt) !== undefined) {
      return confirm(attempt, probe, { left: false, busy });
    }
    if (late && standing === "there") return undefined;
    if (late) return attempt.end("unknown", "Enter was pressed and the composer cannot be seen any more");
    await source.changed(LOOK_MS, attempt.signal);
  }
}
