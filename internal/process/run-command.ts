import { spawn } from "node:child_process";
import { addAbortListener } from "node:events";
import { DomainError } from "../base/errors.ts";

interface CommandOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** If the program takes longer, it is killed with everything that it started. */
  readonly timeoutMs: number;
  /** Bytes of stdout and of stderr that are kept; a program that writes more is killed. */
  readonly maxBytes: number;
  /** The user to run it as. Default: this process's user. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** Called with the program's process group; the function that it returns is called when the program has ended. */
  readonly watch?: (group: number) => () => void;
}

/** @internal */
export type CommandResult =
  | { readonly type: "exit"; readonly code: number; readonly stdout: string; readonly stderr: string }
  /** No such program on PATH. */
  | { readonly type: "missing" }
  | { readonly type: "failed"; readonly reason: string };

/** Runs a program with arguments, never through a shell. Resolves even when it fails; throws `cancelled` on abort. */
export type RunCommand = (
  program: string,
  args: readonly string[],
  options: CommandOptions,
  signal: AbortSignal,
) => Promise<CommandResult>;

export const runCommand: RunCommand = async (program, args, options, signal) => {
  if (signal.aborted) throw cancelled(program, signal);
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true, // its own process group, so that all of it can be killed
    uid: options.user?.uid,
    gid: options.user?.gid,
  });
  const release = child.pid === undefined ? undefined : options.watch?.(child.pid);
  const killed: { reason?: string } = {};
  const kill = (reason: string) => {
    killed.reason ??= reason;
    killGroup(child.pid);
  };
  const timer = setTimeout(() => kill(`took longer than ${options.timeoutMs} ms`), options.timeoutMs);
  using _abort = addAbortListener(signal, () => kill("cancelled"));
  const tooMuch = () => kill(`wrote more than ${options.maxBytes} bytes`);
  const stdout = collect(child.stdout, options.maxBytes, tooMuch);
  const stderr = collect(child.stderr, options.maxBytes, tooMuch);
  try {
    const ended = await ending(child);
    if (signal.aborted) throw cancelled(program, signal);
    if (killed.reason !== undefined) return { type: "failed", reason: killed.reason };
    return ended.type === "exit" ? { ...ended, stdout: stdout(), stderr: stderr() } : ended;
  } finally {
    clearTimeout(timer);
    release?.();
  }
};

type Ending =
  | { readonly type: "exit"; readonly code: number }
  | { readonly type: "missing" }
  | { readonly type: "failed"; readonly reason: string };

function ending(child: ReturnType<typeof spawn>): Promise<Ending> {
  return new Promise((resolve) => {
    child.on("error", (err: NodeJS.ErrnoException) =>
      resolve(err.code === "ENOENT" ? { type: "missing" } : { type: "failed", reason: err.message }),
    );
    child.on("close", (code, signal) =>
      resolve(code === null ? { type: "failed", reason: `killed by ${signal}` } : { type: "exit", code }),
    );
  });
}

function collect(stream: NodeJS.ReadableStream | null, maxBytes: number, tooMuch: () => void): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream?.on("error", () => {}); // its exit reports the failure
  stream?.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxBytes) tooMuch();
    else chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString("utf8");
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // already gone
  }
}

function cancelled(program: string, signal: AbortSignal): DomainError {
  return new DomainError("cancelled", `${program} was cancelled`, { cause: signal.reason });
}
