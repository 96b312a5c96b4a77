import { writeSync } from "node:fs";
import { readOrEmpty, statFields } from "../../../internal/process/proc-files.ts";
import { ENTER, LEAVE } from "./attach-painter.ts";

/** What of a process the terminal in front of it needs. */
export interface TerminalHost {
  on(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
  /** Stops this process until it gets SIGCONT. */
  stop(): void;
  /** Whether this process may use the terminal: the shell has not given it to another process meanwhile. */
  isInFront(): boolean;
}

export interface TerminalStreams {
  readonly stdin: Pick<NodeJS.ReadStream, "setRawMode" | "pause">;
  /** Descriptor of its output, written to at once: the process may be at its end. */
  readonly outputFd: number;
}

export interface TerminalHooks {
  /** The terminal belongs to another process now: nothing may be drawn. */
  readonly onAway: () => void;
  /** It is ours again, and blank. */
  readonly onBack: () => void;
}

const thisProcess: TerminalHost = {
  on: (event, listener) => process.on(event, listener),
  off: (event, listener) => process.off(event, listener),
  stop: () => process.kill(process.pid, "SIGSTOP"),
  isInFront,
};

/**
 * The person's terminal while they are attached: keys come one by one, and what they had on it before is kept aside.
 * Disposing gives it back as it was; so do the end of the process, whatever the reason, and being stopped (SIGTSTP)
 * until it continues.
 */
export class AttachTerminal implements Disposable {
  readonly #streams: TerminalStreams;
  readonly #hooks: TerminalHooks;
  readonly #host: TerminalHost;
  readonly #listeners: Readonly<Record<string, () => void>>;
  #isOurs = false;

  constructor(streams: TerminalStreams, hooks: TerminalHooks, host: TerminalHost = thisProcess) {
    this.#streams = streams;
    this.#hooks = hooks;
    this.#host = host;
    this.#listeners = {
      exit: () => this.#giveBack(),
      SIGTSTP: () => {
        this.#giveBack();
        host.stop();
      },
      // Another process may have used the terminal meanwhile: all of it is set again.
      SIGCONT: () => {
        this.#giveBack();
        if (host.isInFront()) this.#take();
      },
    };
    for (const [event, listener] of Object.entries(this.#listeners)) host.on(event, listener);
    this.#take();
  }

  [Symbol.dispose](): void {
    for (const [event, listener] of Object.entries(this.#listeners)) this.#host.off(event, listener);
    this.#giveBack();
    this.#streams.stdin.pause();
  }

  #take(): void {
    this.#isOurs = true;
    this.#streams.stdin.setRawMode(true);
    this.#write(ENTER);
    this.#hooks.onBack();
  }

  #giveBack(): void {
    if (!this.#isOurs) return;
    this.#isOurs = false;
    this.#hooks.onAway();
    this.#write(LEAVE);
    try {
      this.#streams.stdin.setRawMode(false);
    } catch {
      // The terminal is gone.
    }
  }

  #write(text: string): void {
    try {
      writeSync(this.#streams.outputFd, text);
    } catch {
      // The terminal is gone, or takes nothing now.
    }
  }
}

/** Compares our process group with the terminal's. True where the system does not report them. */
function isInFront(): boolean {
  const [, , group, , , front] = statFields(readOrEmpty("/proc/self/stat"));
  return group === front;
}
