/** The reply to one command of a script. */
export interface Reply {
  readonly ok: boolean;
  /** The command's output, or tmux's error message. */
  readonly lines: readonly string[];
}

export interface AskOptions {
  /** Ends the caller's wait with the signal's reason; a command that was written still runs. */
  readonly signal?: AbortSignal;
}

/** Gives commands to a tmux server. */
export interface Commands {
  /**
   * Returns the output lines of one plain command: not a list or a conditional. Quote its arguments with
   * `quoteArgument`.
   * @throws TmuxCommandError when tmux refused it
   * @throws TmuxUnavailableError when the command was not run, or may not have been run
   * @throws DomainError `invalid` for a line without exactly one reply; `exhausted` when too many commands wait or the
   * reply is too long
   */
  command(line: string, options?: AskOptions): Promise<readonly string[]>;

  /**
   * Returns the replies of a command list or a conditional, in order, one for each command that ran. A refused command
   * is a reply with `ok: false` and ends its list.
   * @throws like `command`, but never TmuxCommandError
   */
  script(line: string, options?: AskOptions): Promise<readonly Reply[]>;
}
