import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { AgentState } from "../internal/gen/gastown/v1/common_pb.ts";
import { ModelServer } from "../test/fakes/model-server.ts";
import { makeAgentHome } from "../test/support/agents/agents-home.ts";
import { type AgentProgram, agentProgram } from "../test/support/agents/agents-install.ts";
import { demoCommand, type RunningSidecar, startSidecar, until } from "../test/support/sidecar/sidecar.ts";
import type { BenchContext } from "./context.ts";

const run = promisify(execFile);
const DRAFT = "half a thought";

/** The arrival of one message, as the agent's side reports it. */
export interface Arrival {
  /** The number of texts in the agent's conversation that contain the message's mark. */
  readonly times: number;
  /** True if one of these texts is exactly the message. */
  readonly exact: boolean;
  /** The wall clock, ms, of the first arrival. */
  readonly at: number | undefined;
}

interface Truth {
  arrival(mark: string, text: string): Promise<Arrival>;
  /** A message that makes the agent ask for permission to do task `n`. */
  dangerous(n: number): string;
  /** True if the agent has done task `n`. */
  did(n: number): Promise<boolean>;
}

/**
 * One agent with its own sidecar. Acts on the agent's terminal as a person would, and knows which messages have
 * arrived.
 */
export class Bed implements AsyncDisposable {
  readonly sidecar: RunningSidecar;
  readonly truth: Truth;
  readonly #stack: AsyncDisposableStack;

  constructor(sidecar: RunningSidecar, truth: Truth, stack: AsyncDisposableStack) {
    this.sidecar = sidecar;
    this.truth = truth;
    this.#stack = stack;
  }

  get socketPath(): string {
    return join(this.sidecar.stateDir, "tmux.sock");
  }

  /** Waits for an idle agent with an empty composer; closes or clears anything in its way, as a person would. */
  async calm(): Promise<void> {
    let calm = 0;
    let since = performance.now();
    await until("a calm agent", 60_000, async () => {
      const { state, draft } = await this.sidecar.client.status({}, { timeoutMs: 5000 });
      calm = state === AgentState.IDLE && !draft ? calm + 1 : 0;
      if (calm >= 3) return true;
      await sleep(20);
      if (performance.now() - since < 1500) return undefined;
      if (state === AgentState.DIALOG) await this.#keys("Escape");
      else if (draft) await this.#keys("C-c");
      since = performance.now();
      return undefined;
    });
  }

  /** Opens a dialog that asks for permission to do task `n`. */
  async openDialog(n: number): Promise<void> {
    await this.#paste(this.truth.dangerous(n));
    await sleep(600);
    await this.#keys("Enter");
    await this.sidecar.untilState(AgentState.DIALOG);
    await sleep(300);
  }

  /** Writes a person's text into the composer without submitting it. */
  async writeDraft(): Promise<void> {
    await run("tmux", this.#tmux("send-keys", "-t", "=claude:", "-l", DRAFT));
    await until("the draft", 5000, async () => (await this.sidecar.client.status({})).draft || undefined);
  }

  async #paste(text: string): Promise<void> {
    await run("tmux", this.#tmux("set-buffer", "-b", "bench", "--", text));
    await run("tmux", this.#tmux("paste-buffer", "-d", "-p", "-b", "bench", "-t", "=claude:"));
  }

  async #keys(...names: string[]): Promise<void> {
    await run("tmux", this.#tmux("send-keys", "-t", "=claude:", ...names));
  }

  #tmux(...args: string[]): string[] {
    return ["-N", "-u", "-S", this.socketPath, ...args];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

export async function demoBed({ program, env }: BenchContext): Promise<Bed> {
  await using stack = new AsyncDisposableStack();
  const sidecar = stack.use(
    await startSidecar((dir) => ({ program, env, command: demoCommand(dir, "--turn-ms", "60") })),
  );
  const entries = async () => {
    const text = await readFile(join(sidecar.dir, "taken.jsonl"), "utf8").catch(() => "");
    return text
      .split("\n")
      .filter(Boolean)
      .map((line): { text: string; at: string } => JSON.parse(line));
  };
  const truth: Truth = {
    async arrival(mark, text) {
      const found = (await entries()).filter((entry) => entry.text.includes(mark));
      const at = found[0] && Date.parse(found[0].at);
      return { times: found.length, exact: found.some((entry) => same(entry.text, text)), at };
    },
    dangerous: (n) => `run: task-${n}`,
    did: async (n) => (await readFile(join(sidecar.dir, "tools.log"), "utf8").catch(() => "")).includes(`task-${n}`),
  };
  await sidecar.untilState(AgentState.IDLE);
  return new Bed(sidecar, truth, stack.move());
}

/** A real agent program that talks to a fake model on loopback. */
export async function realBed(context: BenchContext, name: AgentProgram): Promise<Bed> {
  await using stack = new AsyncDisposableStack();
  const agent = name.startsWith("codex") ? "codex" : "claude";
  const dir = await mkdtemp(join(tmpdir(), "gt-bench-"));
  stack.defer(() => rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
  const model = stack.use(await ModelServer.listen());
  const { workdir, env } = await makeAgentHome({ agent, dir, modelUrl: model.url });
  const bin = join(dir, "bin");
  await mkdir(bin);
  // The usual name, by which the profile recognises its program.
  await symlink(await agentProgram(name), join(bin, agent));
  const command = [join(bin, agent), ...(agent === "claude" ? ["--permission-mode", "default"] : [])];
  const flags = ["--workdir", workdir];
  const setup = { program: context.program, agent, command, flags, env: { ...env, ...context.env } };
  const sidecar = stack.use(await startSidecar(setup));
  const truth: Truth = {
    async arrival(mark, text) {
      const found = model.conversation.filter((block) => block.includes(mark));
      const first = model.requests.find(
        (each) => each.withTools && each.userTexts.some((block) => block.includes(mark)),
      );
      return { times: found.length, exact: found.some((block) => same(block, text)), at: first?.at };
    },
    dangerous: (n) => `RUN-TOOL touch task-${n}`,
    did: async (n) => existsSync(join(workdir, `task-${n}`)),
  };
  await sidecar.untilState(AgentState.IDLE);
  return new Bed(sidecar, truth, stack.move());
}

/** True if the agents' programs are installed. A measurement does not install them, because they are large. */
export function areAgentsInstalled(): boolean {
  return existsSync(join(import.meta.dirname, "../test/agents/node_modules/.stamp"));
}

/** Claude Code hands a longer paste to the model between marks of its own; only the text between them counts. */
const PASTED = /^\s*<pasted_content id="\w+">\n([\s\S]*)\n<\/pasted_content id="\w+">\s*$/;

function same(got: string, sent: string): boolean {
  const plain = (text: string) => text.normalize("NFC").replaceAll(/\r\n?/g, "\n").trim();
  return plain(PASTED.exec(got)?.[1] ?? got) === plain(sent);
}
