import { DomainError } from "../../base/errors.ts";
import type { Attempt, DeliveryResult } from "./delivery-attempt.ts";
import { type NotTyped, whyNotTyped } from "./not-typed.ts";

/**
 * Pastes the text, or returns a result that says for certain that not one byte of it was typed. Undefined: it has been
 * typed.
 */
export async function pasteText(attempt: Attempt): Promise<DeliveryResult | undefined> {
  const { writer } = attempt.deps;
  const { buffer, text, onIntent } = attempt.job;
  try {
    await writer.stage(buffer, text);
  } catch (err) {
    if (!isUnavailable(err)) throw err;
    return { type: "retry", reason: "tmux does not answer" };
  }
  try {
    onIntent();
  } catch {
    await dropBuffer(attempt);
    return { type: "retry", reason: "the intent could not be recorded" };
  }
  let answer: NotTyped;
  try {
    const pasted = await writer.paste(buffer);
    if (pasted === "pasted") return undefined;
    answer = pasted;
  } catch (err) {
    if (!isAway(err)) throw err;
    // tmux's answer is lost. tmux drops the buffer in the same step as the paste, so a missing buffer proves the paste.
    if (!(await isBufferThere(attempt))) return undefined;
    // Without the buffer, a paste command that tmux has yet to read types nothing.
    await dropBuffer(attempt);
    return { type: "retry", reason: "tmux went away before the text was typed" };
  }
  await dropBuffer(attempt);
  return attempt.end(answer === "refused" ? "agent-dead" : "unsafe", whyNotTyped(answer));
}

/** A buffer that stays does no harm: the next attempt replaces it. */
export async function dropBuffer({ deps, job }: Attempt): Promise<void> {
  try {
    await deps.writer.dropBuffer(job.buffer);
  } catch (err) {
    if (!isAway(err)) throw err;
  }
}

/** Asks until tmux answers. */
export async function isBufferThere({ deps, job, signal }: Attempt): Promise<boolean> {
  for (;;) {
    try {
      return await deps.writer.bufferExists(job.buffer);
    } catch (err) {
      if (!isUnavailable(err)) throw err;
      await deps.clock.sleep(50, signal);
    }
  }
}

function isUnavailable(err: unknown): boolean {
  return err instanceof DomainError && err.kind === "unavailable";
}

/** True if the error says that tmux does not answer, or that the pane no longer exists. */
export function isAway(err: unknown): boolean {
  return isUnavailable(err) || (err instanceof DomainError && err.kind === "precondition");
}
