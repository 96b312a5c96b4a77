import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { readlinkSync } from "node:fs";
import type { Readable } from "node:stream";
import { firstOf, within } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { idsOf, type UnixUser } from "../users/unix-user.ts";
import { ProcessGroup } from "./process-group.ts";

export interface AgentCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The user to run it as. Default: this process's user. */
  readonly user?: UnixUser | undefined;
}

/** The end of a process: one of the two is set. */
export interface ProcessEnd {
  readonly code?: number;
  readonly signal?: NodeJS.Signals;
}

export interface OutputSink {
  stdout(chunk: Buffer): void;
  stderr(chunk: Buffer): void;
  /** The process has ended, and the rest of its output, `bytes` long, was not read in time. */
  abandoned(stream: "stdout" | "stderr", bytes: number): void;
  /** The process closed its standard output some seconds ago and is still running: no output can follow. */
  muted(): void;
}

/** After the process has ended, the rest in its pipes arrives within this time, unless a grandchild holds them open. */
const REST_MS = 500;
/** How long a process may run after it has closed its output: one that is ending may close it first. */
const MUTED_MS = 5_000;
/** How long a slow reader may take for the rest of the output. */
const HELD_REST_MS = 10_000;
/** Shares of the grace period: first the agent may end by itself, then it gets TERM, then KILL. */
const ASK_SHARE = 0.4;
const TERM_SHARE = 0.5;
/** The most text that may wait for an agent: an agent with more text waiting is not reading. */
const MAX_UNREAD_BYTES = 1024 * 1024;
/** A process cannot refuse KILL; only one in uninterruptible sleep takes longer to end. */
const KILL_MS = 5_000;

/** An agent's process as the leader of a group of its own, with pipes to its standard streams. */
export class AgentProcess {
  readonly #clock: Clock;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #group: ProcessGroup;
  #stopping: Promise<void> | undefined;
  #isHeld = false;
  /** Resolves when the process has ended and all its output has been handed over. */
  readonly ended: Promise<ProcessEnd>;

  private constructor(clock: Clock, child: ChildProcessWithoutNullStreams, pid: number, sink: OutputSink) {
    this.#clock = clock;
    this.#child = child;
    this.#group = new ProcessGroup(clock, pid);
    // The agent may have closed the pipe: a write reports it.
    child.stdin.on("error", () => {});
    child.stdout.on("data", (chunk: Buffer) => sink.stdout(chunk));
    child.stderr.on("data", (chunk: Buffer) => sink.stderr(chunk));
    child.stdout.once("end", () => void this.#watchMuted(sink));
    this.ended = this.#end(sink);
  }

  /**
   * @throws DomainError `precondition` for a program that cannot be executed, `unavailable` when the system has no room
   */
  static async start(clock: Clock, command: AgentCommand, sink: OutputSink): Promise<AgentProcess> {
    try {
      // It throws some errors, such as ENOTDIR and E2BIG, and emits others.
      const child = spawn(command.program, command.args, {
        cwd: command.cwd,
        env: { ...command.env },
        stdio: "pipe",
        detached: true,
        ...idsOf(command.user),
      });
      await once(child, "spawn");
      return new AgentProcess(clock, child, child.pid ?? 0, sink);
    } catch (err) {
      throw startFailure(command.program, err as NodeJS.ErrnoException);
    }
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The path of the agent's working folder; undefined where the system does not reveal it. */
  cwd(): string | undefined {
    try {
      return readlinkSync(`/proc/${this.pid}/cwd`);
    } catch {
      return undefined;
    }
  }

  /**
   * Resolves when the pipe has taken the whole text: an agent that does not read holds back the writer. Rejects if the
   * agent has closed its input or leaves more than 1 MiB unread.
   */
  write(text: string): Promise<void> {
    const { stdin } = this.#child;
    return new Promise((resolve, reject) => {
      if (!stdin.writable) reject(new DomainError("unavailable", "the agent has closed its input"));
      else if (stdin.writableLength > MAX_UNREAD_BYTES)
        reject(new DomainError("unavailable", "the agent does not read its input"));
      else stdin.write(text, (err) => (err ? reject(err) : resolve()));
    });
  }

  /** Closes the agent's input. */
  endInput(): void {
    this.#child.stdin.end();
  }

  /** Pauses the agent's output, or resumes it. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (isHeld) stream.pause();
      else stream.resume();
    }
  }

  /**
   * Waits for the agent to end by itself, then sends TERM, then KILL to its group, all within `graceMs`; 0: KILL at
   * once. Resolves when no member of the group is running. A second call waits for the end of the first; with 0, it
   * sends KILL at once instead.
   */
  stop(graceMs: number): Promise<void> {
    if (graceMs <= 0) this.#group.signal("SIGKILL");
    this.#stopping ??= this.#stop(graceMs);
    return graceMs <= 0 ? this.#kill() : this.#stopping;
  }

  async #stop(graceMs: number): Promise<void> {
    await this.#endsWithin(graceMs * ASK_SHARE);
    if (!this.#group.lives()) return;
    this.#group.signal("SIGTERM");
    if (!(await this.#group.gone(graceMs * TERM_SHARE))) await this.#kill();
  }

  async #watchMuted(sink: OutputSink): Promise<void> {
    await this.#endsWithin(MUTED_MS);
    if (!this.#hasExited) sink.muted();
  }

  get #hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Waits without scanning all processes, because most agents end by themselves. */
  async #endsWithin(ms: number): Promise<void> {
    if (this.#hasExited) return;
    await firstOf(
      undefined,
      (stop) => once(this.#child, "exit", { signal: stop }),
      (stop) => this.#clock.sleep(ms, stop),
    );
  }

  async #kill(): Promise<void> {
    this.#group.signal("SIGKILL");
    await this.#group.gone(KILL_MS);
  }

  async #end(sink: OutputSink): Promise<ProcessEnd> {
    const { stdout, stderr } = this.#child;
    const rest = Promise.all([untilEnd(stdout), untilEnd(stderr)]).then(() => true);
    const [code, signal] = (await once(this.#child, "exit")) as [number | null, NodeJS.Signals | null];
    if (!(await within(this.#clock, REST_MS, rest)) && this.#isHeld) await within(this.#clock, HELD_REST_MS, rest);
    if (stdout.readableLength > 0) sink.abandoned("stdout", stdout.readableLength);
    if (stderr.readableLength > 0) sink.abandoned("stderr", stderr.readableLength);
    stdout.destroy();
    stderr.destroy();
    return code === null ? { signal: signal ?? "SIGKILL" } : { code };
  }
}

function untilEnd(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    stream.once("close", resolve);
    stream.once("error", () => resolve());
  });
}

function startFailure(program: string, err: NodeJS.ErrnoException): DomainError {
  const isRoom = ["EAGAIN", "EMFILE", "ENFILE", "ENOMEM"].includes(err.code ?? "");
  const reason = isRoom ? "the system cannot create another process" : (err.code ?? err.message);
  return new DomainError(isRoom ? "unavailable" : "precondition", `cannot start ${program}: ${reason}`, { cause: err });
}
