import { DomainError } from "../../base/errors.ts";
import { plainText } from "../../base/sanitise.ts";

/** tmux answered with an error: no such pane, no such buffer, unknown option. The message has tmux's own words. */
export class TmuxCommandError extends DomainError {
  /** `command` is the command's name only, because the arguments may contain what someone typed. */
  constructor(command: string, words: readonly string[]) {
    const said = plainText(words.join(" ")).slice(0, 200) || "no reason given";
    super("precondition", `tmux refused ${command}: ${said}`, { fields: { command } });
  }
}

/**
 * tmux cannot be asked: no client is attached, the server is gone, or it did not answer in time. `sent` is true when
 * the command was already written: it may have run.
 */
export class TmuxUnavailableError extends DomainError {
  readonly sent: boolean;

  constructor(reason: string, sent: boolean) {
    super("unavailable", `tmux cannot be asked: ${reason}`, { fields: { sent } });
    this.sent = sent;
  }
}
