import { type ChildProcess, spawn } from "node:child_process";

export interface ServingProgram {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Keeps a leak of the serving half from taking the container's memory, and with it the agent: it ends itself far below
 * that. Buffers (raw output, connections) have bounds of their own and are not counted here.
 */
const HEAP_FLAG = "--max-old-space-size=384";

/**
 * Floods create much data that is soon dropped. Node would let the space for it grow until a serving half of 60 MiB
 * takes 200, and keep it; with 4 MiB it costs the same time and stays under 80 (measured).
 */
const YOUNG_FLAG = "--max-semi-space-size=4";

/** For the Node of each serving half. */
export const HEAP_FLAGS = [HEAP_FLAG, YOUNG_FLAG] as const;

/** The line that makes a process of the serving half, which waits on stdin with its code loaded, begin. */
export const GO = "go\n";

/**
 * Processes of the serving half, of which one beyond the running one waits with its code loaded: on a busy machine,
 * loading takes longer than the second within which the service must be back. They end with this process, by the end of
 * their stdin.
 */
export class ServingProcesses {
  readonly #program: ServingProgram;
  #spare: ChildProcess | undefined;

  constructor(program: ServingProgram) {
    this.#program = program;
  }

  /** Starts the next one. */
  next(): ChildProcess {
    const child = this.#spare ?? this.#spawn();
    this.#spare = undefined;
    child.stdin?.write(GO);
    return child;
  }

  /** Starts the process that waits, if there is none. */
  prepare(): void {
    if (this.#spare !== undefined) return;
    const spare = this.#spawn();
    this.#spare = spare;
    const gone = () => {
      if (this.#spare === spare) this.#spare = undefined;
    };
    spare.once("exit", gone).once("error", gone); // where it could not be started there is no exit
  }

  /** Ends the waiting process. */
  dismiss(): void {
    this.#spare?.kill("SIGKILL");
    this.#spare = undefined;
  }

  #spawn(): ChildProcess {
    const { program, args, env } = this.#program;
    const child = spawn(program, [...args], {
      stdio: ["pipe", "inherit", "inherit"],
      env: { ...env },
      detached: true, // a terminal's Ctrl-C and Ctrl-\ are for this process, even while that one handles no signals yet
    });
    child.on("error", () => {}); // an `exit` never follows; the caller listens for itself
    child.stdin?.on("error", () => {}); // it ended before it got the line that makes it begin
    return child;
  }
}
