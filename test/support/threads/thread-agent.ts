import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { AgentState, EventType, NudgeOutcome } from "../../../internal/gen/gastown/v1/common_pb.ts";
import type { ModelAct } from "../../fakes/model-script.ts";
import type { ModelRequest } from "../../fakes/model-wire.ts";
import type { AgentProgram } from "../agents/agents-install.ts";
import { type RealAgent, startRealAgent } from "../agents/real-agent.ts";
import { eventually } from "../eventually.ts";
import { programFile } from "../programs.ts";
import { SidecarEventReader } from "../sidecar/event-reader.ts";
import { hasThreadTools, ModelLog } from "./thread-model.ts";
import type { ThreadsServer } from "./threads-server.ts";

/** An agent program takes a minute to start and to answer while other work has the cores. */
const START_MS = 240_000;
const NUDGE_MS = 60_000n;
const MAX_ASKED = 20;
const SHOWN_LINES = 60;

interface ThreadAgentOptions {
  readonly program: AgentProgram;
  readonly role: string;
  /** Decides what the agent does, such as `threadModel`. */
  readonly model: (request: ModelRequest) => ModelAct;
}

/** A real agent program that takes part in threads: in a sidecar, with tools and a token that is renewed. */
export class ThreadAgent implements AsyncDisposable {
  readonly address: string;
  readonly role: string;
  readonly agent: RealAgent;
  readonly events: SidecarEventReader;
  readonly #minting: ChildProcess;
  readonly #log: ModelLog;

  private constructor(role: string, agent: RealAgent, minting: ChildProcess, log: ModelLog) {
    this.address = addressOf(role);
    this.role = role;
    this.agent = agent;
    this.events = new SidecarEventReader(agent.sidecar.client);
    this.#minting = minting;
    this.#log = log;
  }

  /** Resolves when the agent is idle and its model has been offered the tools. */
  static async start(server: ThreadsServer, { program, role, model }: ThreadAgentOptions): Promise<ThreadAgent> {
    const address = addressOf(role);
    const file = join(server.dir, `${role}.token`);
    const log = new ModelLog(model);
    const agent = await startRealAgent({
      ...{ program, address, act: (request) => log.act(request) },
      env: { XDG_RUNTIME_DIR: server.env["XDG_RUNTIME_DIR"] ?? "" },
      flags: ["--threads", server.url, "--threads-token", file],
    });
    const flags = ["--agent", address, "--role", role, "--file", file];
    const minting = spawn(process.execPath, [programFile("threads"), "token", ...flags], {
      env: { ...server.env },
      stdio: ["ignore", "ignore", "inherit"],
    });
    const started = new ThreadAgent(role, agent, minting, log);
    try {
      await started.#untilTools();
      return started;
    } catch (err) {
      await started[Symbol.asyncDispose]();
      throw err;
    }
  }

  /** The titles of the dialogs that it has shown so far. */
  async dialogs(): Promise<readonly string[]> {
    const requestId = `last-${this.address.replace("/", "-")}`;
    await this.agent.sidecar.client.nudge({ message: "that is all", requestId, timeoutMs: NUDGE_MS });
    await this.events.until("the last event", (event) => event.receipt?.requestId === requestId, START_MS);
    const opened = this.events.events.filter(({ type }) => type === EventType.DIALOG_OPENED);
    return opened.map(({ dialog }) => dialog?.title ?? "");
  }

  /** For a failed test: its requests and actions, its receipts, its pane from the beginning and its sidecar's log. */
  async story(): Promise<string> {
    const { client, log } = this.agent.sidecar;
    const receipts = this.events.events.flatMap(({ receipt }) => (receipt === undefined ? [] : [receipt]));
    const screen = await screenOf(client).catch((err: unknown) => `no screen: ${err}`);
    return [
      `== ${this.address}`,
      ...this.#log.lines,
      ...receipts.map((one) => `receipt ${one.requestId} ${wordOf(NudgeOutcome, one.outcome)} ${one.error}`),
      ...[screen, log()],
    ].join("\n");
  }

  /** An agent program may call its model before its MCP servers have answered. */
  async #untilTools(): Promise<void> {
    const { sidecar, model } = this.agent;
    const isIdle = async () => (await sidecar.client.status({})).state === AgentState.IDLE;
    await this.#until("is idle", isIdle);
    for (let asked = 0; !model.requests.some(({ tools }) => hasThreadTools(tools)); asked++) {
      if (asked === MAX_ASKED) throw new Error(`no tools are offered to the model\n${await this.story()}`);
      const before = model.requests.length;
      const { outcome } = await sidecar.client.nudge({ message: `hello ${asked}`, timeoutMs: NUDGE_MS });
      const hasAsked = () => outcome !== NudgeOutcome.SUBMITTED || model.requests.length > before;
      await this.#until("is idle after an answer", async () => hasAsked() && (await isIdle()));
    }
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    try {
      await eventually(`${this.address} ${what}`, isSo, START_MS);
    } catch (err) {
      throw new Error(await this.story(), { cause: err });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#minting, "close");
    this.#minting.kill("SIGTERM");
    await closed;
    await this.events[Symbol.asyncDispose]();
    await this.agent[Symbol.asyncDispose]();
  }
}

function addressOf(role: string): string {
  return `town/${role}`;
}

/** The first lines of a pane, with a program's warnings about its tools, and the last ones. */
function ends(output: string): string {
  const lines = output.split("\n");
  if (lines.length <= 2 * SHOWN_LINES) return output;
  return [...lines.slice(0, SHOWN_LINES), "…", ...lines.slice(-SHOWN_LINES)].join("\n");
}

async function screenOf(client: RealAgent["sidecar"]["client"]): Promise<string> {
  const { state, evidence } = await client.status({});
  const { output } = await client.peek({ all: true });
  return `${wordOf(AgentState, state)}: ${evidence.map(({ source, value }) => `${source} ${value}`)}\n${ends(output)}`;
}

function wordOf(words: Readonly<Record<string, number>>, value: number): string {
  return Object.keys(words).find((word) => words[word] === value) ?? `${value}`;
}
