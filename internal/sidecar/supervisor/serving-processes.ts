import { type ChildProcess, spawn } from "node:child_process";

export interface ServingProgram {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Keeps a leak of the serving half from using up the container's memory, which would end the agent: at this limit, far
 * lower, the serving half ends. Buffers (raw output, connections) have bounds of their own and are not counted here.
 */
const HEAP_FLAG = "--max-old-space-size=384";

/**
 * Floods create much data that is soon dropped. Node would let the space for it grow until a serving half of 60 MiB
 * takes 200, and keep it; with 4 MiB it costs the same time and stays under 80 (measured).
 */
const YOUNG_FLAG = "--max-semi-space-size=4";

/** For the Node of each serving half. */
export const HEAP_FLAGS = [HEAP_FLAG, YOUNG_FLAG] as const;

/** A process of the serving half that has loaded its code waits for this line on stdin, and then begins. */
export const GO = "go\n";

/**
 * Processes of the serving half, of which one beyond the running one waits with its code loaded: on a busy machine,
 * loading takes longer than the second within which the service must be back. They end with this process, because their
 * stdin ends then.
 */
export class ServingProcesses {
  readonly #program: ServingProgram;
  #spare: ChildProcess | undefined;

  constructor(program: ServingProgram) {
    this.#program = program;
  }

  /** Lets the next process begin. */
  next(): ChildProcess {
    const child = this.#spare ?? this.#spawn();
    this.#spare = undefined;
    child.stdin?.write(GO);
    return child;
  }

  /** Starts a process that waits, unless there is one. */
  prepare(): void {
    if (this.#spare !== undefined) return;
    const spare = this.#spawn();
    this.#spare = spare;
    const gone = () => {
      if (this.#spare === spare) this.#spare = undefined;
    };
    spare.once("exit", gone).once("error", gone); // a process that could not be started has no exit
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
      detached: true, // a terminal's Ctrl-C and Ctrl-\ are for this process, not for one that cannot handle signals yet
    });
    child.on("error", () => {}); // the caller has a listener of its own
    child.stdin?.on("error", () => {}); // the process ended before it got the line that makes it begin
    return child;
  }
}
