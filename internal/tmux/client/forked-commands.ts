import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import type { Environment } from "../../base/environment.ts";
import { Serial } from "../../base/serial.ts";
import { commandName, plainCommandName } from "../pane/command-line.ts";
import type { Commands, Reply } from "../pane/commands.ts";
import { TmuxCommandError, TmuxUnavailableError } from "../pane/errors.ts";
import { withoutTmux } from "./environment.ts";

export interface ForkedCommandsOptions {
  readonly tmuxProgram: string;
  readonly socketPath: string;
  readonly env: Environment;
  /** How long one tmux program may run before it is killed, ms. Default 2000. */
  readonly timeoutMs?: number;
}

/** tmux's messages if it cannot talk to a server on the socket, or if the server ended during the command. */
const NO_SERVER = /no server running|error connecting|lost server|server exited|protocol version mismatch/;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A plain command that waits for its turn. */
interface Waiting extends PromiseWithResolvers<readonly string[]> {
  readonly name: string;
  readonly line: string;
}

/**
 * Runs commands in order by starting tmux programs. Starting a program takes 6 ms, a command of an attached client 0.2
 * ms, so plain commands that are requested at the same time share a program. For servers that other programs use too:
 * tmux 3.3a crashes, and ends all its sessions, if a session is created or closed while a control client attaches.
 */
export class ForkedCommands implements Commands {
  readonly #options: ForkedCommandsOptions;
  readonly #order = new Serial();
  /** The batch that new plain commands join; it runs as a whole when the turn of its first command comes. */
  #waiting: Waiting[] = [];

  constructor(options: ForkedCommandsOptions) {
    this.#options = options;
  }

  /** Like `CommandClient.command`. */
  async command(line: string): Promise<readonly string[]> {
    const waiting = { name: plainCommandName(line), line, ...Promise.withResolvers<readonly string[]>() };
    const batch = this.#waiting;
    batch.push(waiting);
    if (batch.length === 1) void this.#order.inTurn(() => this.#runBatch(batch));
    return await waiting.promise;
  }

  /** Like `CommandClient.script`, but the output of all commands comes in one reply. */
  async script(line: string): Promise<readonly Reply[]> {
    commandName(line); // throws if the line is not a command
    this.#waiting = []; // commands that come later run after this line
    const { code, out, err } = await this.#order.inTurn(() => this.#run(line));
    return [code === 0 ? { ok: true, lines: linesOf(out) } : { ok: false, lines: linesOf(err) }];
  }

  async #runBatch(batch: readonly Waiting[]): Promise<void> {
    await Promise.resolve(); // commands that are requested in the same turn join the batch
    if (this.#waiting === batch) this.#waiting = [];
    const mark = `gt${randomBytes(8).toString("hex")}`;
    // If tmux refuses a command, it skips the rest of that line, so only that command's mark is missing.
    const lines = batch.map(({ line }, index) => `${line} ; display-message -p ${mark}-${index}`);
    try {
      answerAll(batch, await this.#run(lines.join("\n")), mark);
    } catch (err) {
      for (const { reject } of batch) reject(err);
    }
  }

  async #run(line: string): Promise<Ran> {
    const ran = await this.#spawn(line);
    if (ran.code === 0) return ran;
    if (ran.code === null) throw new TmuxUnavailableError("the server does not answer", true);
    if (NO_SERVER.test(ran.err)) throw new TmuxUnavailableError(linesOf(ran.err).join(" "), true);
    return ran;
  }

  #spawn(line: string): Promise<Ran> {
    const { tmuxProgram, socketPath, env, timeoutMs = 2000 } = this.#options;
    // Through stdin: an argument holds at most 16 KiB, and other processes could read it.
    const child: ChildProcess = spawn(tmuxProgram, ["-N", "-u", "-S", socketPath, "source-file", "-"], {
      env: withoutTmux(env),
      stdio: "pipe",
      detached: true, // so that a Ctrl-C at our terminal does not kill tmux
      timeout: timeoutMs,
      killSignal: "SIGKILL",
    });
    const { promise, resolve, reject } = Promise.withResolvers<Ran>();
    const outputs = { out: "", err: "" };
    // If this process has no descriptor left, a child has no streams.
    for (const [name, stream] of [["out", child.stdout] as const, ["err", child.stderr] as const]) {
      stream?.on("error", () => {}); // its exit reports the failure
      stream?.setEncoding("utf8").on("data", (chunk: string) => {
        outputs[name] += chunk;
        if (outputs[name].length > MAX_OUTPUT_BYTES) child.kill("SIGKILL");
      });
    }
    child.on("error", (err) => reject(new TmuxUnavailableError(err.message, false)));
    child.on("close", (code) => resolve({ code, ...outputs }));
    child.stdin?.on("error", () => {}); // if tmux ends before it has read everything, its exit reports the failure
    child.stdin?.end(`${line}\n`);
    return promise;
  }
}

/**
 * Settles each command of the batch. A command's output precedes its mark; tmux's messages about refused commands come
 * in the order of the commands.
 */
function answerAll(batch: readonly Waiting[], { out, err }: Ran, mark: string): void {
  const lines = linesOf(out);
  const words = [...linesOf(err)];
  let from = 0;
  for (const [index, { name, resolve, reject }] of batch.entries()) {
    const to = lines.indexOf(`${mark}-${index}`, from);
    if (to < 0) {
      const own = words.shift();
      reject(new TmuxCommandError(name, own === undefined ? [] : [own]));
      continue;
    }
    resolve(lines.slice(from, to));
    from = to + 1;
  }
}

function linesOf(text: string): readonly string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
