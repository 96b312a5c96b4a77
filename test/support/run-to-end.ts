import { execa } from "execa";

export interface RunOptions {
  /** The whole environment: ours is not added. Default: ours. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string | undefined;
  /** The program's standard input; default: empty. */
  readonly input?: string | Uint8Array | undefined;
  /** The time after which it is ended. */
  readonly timeoutMs?: number;
}

/** The exit of a program, and its output. */
export interface Ran {
  /** null: a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, which may be a failure. Rejects when it cannot be started. */
export async function runToEnd(file: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { code, stdout, stderr } = await run(file, args, options);
  return { code, stdout, stderr };
}

/** Like `runToEnd`; `output` has standard output and errors in order of arrival. */
export async function runMerged(file: string, args: readonly string[], options: RunOptions = {}) {
  const { code, all: output } = await run(file, args, options);
  return { code, output };
}

async function run(file: string, args: readonly string[], options: RunOptions) {
  const { env = process.env, cwd, input = "", timeoutMs } = options;
  const result = await execa(file, args, {
    ...{ reject: false, stripFinalNewline: false, all: true, extendEnv: false, env, input },
    ...(cwd !== undefined && { cwd }),
    ...(timeoutMs !== undefined && { timeout: timeoutMs }),
  });
  const { exitCode, signal, stdout, stderr, all } = result;
  if (exitCode === undefined && signal === undefined) throw result;
  return { code: exitCode ?? null, stdout, stderr, all };
}
