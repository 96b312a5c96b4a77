/** The reply to one command of a script. */
export interface Reply {
  readonly ok: boolean;
  /** Its output, or tmux's error message. */
  readonly lines: readonly string[];
}

export interface AskOptions {
  /** Ends the caller's wait with the signal's reason; a command that was written still runs. */
  readonly signal?: AbortSignal;
}

/** A way to a tmux server. */
export interface Commands {
  /**
   * Output lines of one plain command (no list, no conditional; quote arguments with `quoteArgument`).
   * @throws TmuxCommandError when tmux refused it
   * @throws TmuxUnavailableError when it was not, or may not have been, run
   * @throws DomainError `invalid` for a line without exactly one reply; `exhausted` when too many wait or the reply is
   * too long
   */
  command(line: string, options?: AskOptions): Promise<readonly string[]>;

  /**
   * Replies of a command list or a conditional, one per command that ran, in their order. A refused command is a reply
   * with `ok: false` and ends its list.
   * @throws like `command`, but never TmuxCommandError
   */
  script(line: string, options?: AskOptions): Promise<readonly Reply[]>;
}
