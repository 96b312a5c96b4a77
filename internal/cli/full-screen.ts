import { writeSync } from "node:fs";
import { readOrEmpty, statFields } from "../process/proc-files.ts";
import { leaveRawMode } from "./raw-mode.ts";

/** The part of a process that handling its terminal needs. */
export interface TerminalHost {
  on(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
  /** Stops this process until it gets SIGCONT. */
  stop(): void;
  /** Whether this process is in the foreground: false if the shell has given the terminal to another process. */
  isInFront(): boolean;
}

export interface TerminalStreams {
  readonly stdin: Pick<NodeJS.ReadStream, "setRawMode" | "pause">;
  /** The descriptor of its output, for synchronous writes: the process may be about to exit. */
  readonly outputFd: number;
}

/** The escape sequences that set what the program needs, and undo it. */
export interface FullScreenModes {
  readonly enter: string;
  readonly leave: string;
}

export interface TerminalHooks {
  /** The terminal now belongs to another process: do not draw. */
  readonly onAway: () => void;
  /** The terminal is ours again, and blank. */
  readonly onBack: () => void;
}

const thisProcess: TerminalHost = {
  on: (event, listener) => process.on(event, listener),
  off: (event, listener) => process.off(event, listener),
  stop: () => process.kill(process.pid, "SIGSTOP"),
  isInFront,
};

/**
 * The person's terminal while a program uses all of it: keys arrive one by one, and its earlier contents are kept
 * aside. Disposing restores the terminal. It is also restored when the process exits, unless a signal kills it, and
 * while the process is stopped (SIGTSTP).
 */
export class FullScreen implements Disposable {
  readonly #streams: TerminalStreams;
  readonly #modes: FullScreenModes;
  readonly #hooks: TerminalHooks;
  readonly #host: TerminalHost;
  readonly #listeners: Readonly<Record<string, () => void>>;
  #isOurs = false;

  constructor(
    streams: TerminalStreams,
    modes: FullScreenModes,
    hooks: TerminalHooks,
    host: TerminalHost = thisProcess,
  ) {
    this.#streams = streams;
    this.#modes = modes;
    this.#hooks = hooks;
    this.#host = host;
    this.#listeners = {
      exit: () => this.#giveBack(),
      SIGTSTP: () => {
        this.#giveBack();
        host.stop();
      },
      // Another process may have used the terminal meanwhile: set every mode again.
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
    this.#write(this.#modes.enter);
    this.#hooks.onBack();
  }

  #giveBack(): void {
    if (!this.#isOurs) return;
    this.#isOurs = false;
    this.#hooks.onAway();
    this.#write(this.#modes.leave);
    leaveRawMode(this.#streams.stdin);
  }

  #write(text: string): void {
    try {
      writeSync(this.#streams.outputFd, text);
    } catch {
      // The terminal is gone, or accepts nothing now.
    }
  }
}

/** Compares our process group with the terminal's. True if the system does not report them. */
function isInFront(): boolean {
  const [, , group, , , front] = statFields(readOrEmpty("/proc/self/stat"));
  return group === front;
}
