import { delimiter, dirname, join } from "node:path";
import { execa } from "execa";

/** One step of the gate: a command of this repository, or the reason why there is nothing to check. */
export type GateStep =
  | { readonly type: "command"; readonly name: string; readonly argv: readonly [string, ...string[]] }
  | { readonly type: "nothing"; readonly name: string; readonly reason: string };

export interface StepResult {
  readonly name: string;
  readonly ok: boolean;
  readonly ms: number;
  /** Both output streams in order of arrival, or the reason why the step has nothing to do. */
  readonly output: string;
}

export const root: string = join(import.meta.dirname, "..");

/** The path of a packaged program. */
export const packaged = (name: string): string => join(root, "node_modules", ".bin", name);

/**
 * The environment for programs of packages: they find this process's Node by name, and use colours if the output is a
 * terminal.
 */
export function toolEnvironment(): NodeJS.ProcessEnv {
  const path = [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
  return { ...process.env, PATH: path, ...(process.stdout.isTTY ? { FORCE_COLOR: "1" } : {}) };
}

/** Needed because vitest colours its output even without a terminal. */
export const vitestColor: readonly string[] = process.stdout.isTTY ? [] : ["--no-color"];

/** Runs a step to its end. A program that cannot be started is a failed step, not an exception. */
export async function runStep(step: GateStep): Promise<StepResult> {
  if (step.type === "nothing") {
    return { name: step.name, ok: true, ms: 0, output: step.reason };
  }
  const started = performance.now();
  const [program, ...args] = step.argv;
  const { exitCode, signal, all, message } = await execa(program, args, {
    cwd: root,
    extendEnv: false,
    env: toolEnvironment(),
    stdin: "ignore",
    all: true,
    reject: false,
  });
  const end = signal === undefined ? "" : `ended by ${signal}`;
  const isStarted = exitCode !== undefined || signal !== undefined;
  return {
    name: step.name,
    ok: exitCode === 0,
    ms: performance.now() - started,
    output: `${all ?? ""}${isStarted ? end : (message ?? "")}`.trimEnd(),
  };
}

/** Starts steps in the order of the list, runs at most `lanes` at a time, and reports each result as it arrives. */
export async function runSteps(
  steps: readonly GateStep[],
  lanes: number,
  onResult: (result: StepResult) => void,
): Promise<readonly StepResult[]> {
  const waiting = [...steps];
  const results: StepResult[] = [];
  const lane = async (): Promise<void> => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const result = await runStep(step);
      results.push(result);
      onResult(result);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}

/** Prints a step's result for a person: one line, and its full output if it failed. */
export function printStep(result: StepResult): void {
  const note = result.ok && result.ms === 0 ? result.output : `${(result.ms / 1000).toFixed(1)} s`;
  console.log(`${result.ok ? "ok  " : "FAIL"}  ${result.name.padEnd(28)} ${note}`);
  if (!result.ok) console.log(`${result.output.replace(/^/gm, "      ")}\n`);
}
