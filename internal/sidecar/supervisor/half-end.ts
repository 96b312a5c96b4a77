/** Why the supervising half ends, and with which exit code. */
export class HalfEnd {
  readonly #controller = new AbortController();
  #exitCode: number | undefined;
  #isRefused = false;

  /** Aborted when the half is to end by its own decision. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The agent's exit code; 128+n when a signal ended it; 0 when neither is known. */
  get exitCode(): number {
    return this.#exitCode ?? 0;
  }

  /** The level at which the end is logged; a refused start has already reported the reason. */
  get level(): "info" | "debug" {
    return this.#isRefused ? "debug" : "info";
  }

  /** Ends the half because the agent has ended and no restart is due. */
  finish(exitCode: number): void {
    this.#exitCode = exitCode;
    this.#controller.abort(new Error("the agent has ended"));
  }

  /** Ends the half because the serving half cannot start. */
  refuse(exitCode: number): void {
    this.#isRefused = true;
    this.#exitCode = exitCode;
    this.#controller.abort(new Error("the serving half cannot start"));
  }

  /** Records the agent's exit code, unless `finish`, `refuse` or an earlier end has set one. */
  agentEnded(exitCode: number | undefined): void {
    this.#exitCode ??= exitCode;
  }
}
