import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import { keysRefused } from "../pane/delivery/not-typed.ts";
import { checkTypedText } from "../session/check-typed-text.ts";
import type { KeysRequest } from "../session/types.ts";
import { checkKeys } from "../tmux/pane/keys.ts";
import type { TmuxPane } from "../tmux/pane/pane.ts";
import type { SessionLock } from "./session-lock.ts";

export interface PressKeysDeps {
  readonly clock: Clock;
  readonly pane: Pick<TmuxPane, "sendKeys" | "sendText">;
  readonly lock: Pick<SessionLock, "take">;
}

/** How long to wait for another `gt` to finish a delivery. */
const LOCK_MS = 30_000;
/** Keys that stop the agent's work: they do not wait for a delivery. */
const OVERTAKES: ReadonlySet<string> = new Set(["C-c", "Escape"]);

/**
 * Presses keys in a local session, or types a text as it is, while no other `gt` types; Ctrl-C and Escape alone do not
 * wait.
 * @throws DomainError `invalid` for keys and text, neither, an unknown key, and a text over 65,536 bytes or with NUL;
 * `precondition` when the agent is dead; `deadline` when others type for too long
 */
export async function pressKeys(
  { clock, pane, lock }: PressKeysDeps,
  { keys, text }: KeysRequest,
  signal: AbortSignal,
): Promise<void> {
  if (keys.length > 0 && text !== "") throw new DomainError("invalid", "give keys or a text, not both");
  if (text === "") checkKeys(keys);
  else checkTypedText(text);
  const isUrgent = keys.length > 0 && keys.every((key) => OVERTAKES.has(key));
  await using held = isUrgent ? undefined : await lock.take(LOCK_MS, signal);
  const sent = await (text === "" ? pane.sendKeys(keys) : pane.sendText(text));
  if (sent !== "sent") throw keysRefused(sent);
  await held?.typed(clock.now());
}
