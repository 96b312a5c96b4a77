import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { AgentState, EventType } from "../../../internal/gen/gastown/v1/common_pb.ts";
import type { AgentProgram } from "../agents/agents-install.ts";
import { type RealAgent, startRealAgent } from "../agents/real-agent.ts";
import { ownProgram } from "../programs.ts";
import { EventReader } from "../sidecar/event-reader.ts";
import { until } from "../sidecar/sidecar.ts";
import { hasThreadTools, type Part, threadModel } from "./thread-model.ts";
import type { ThreadsServer } from "./threads-server.ts";

const START_MS = 120_000;
const TOOLS_MS = 120_000;

/** A real agent program that takes part in threads: in a sidecar, with tools and a token that is renewed. */
export class ThreadAgent implements AsyncDisposable {
  readonly address: string;
  readonly agent: RealAgent;
  readonly events: EventReader;
  readonly #minting: ChildProcess;

  private constructor(address: string, agent: RealAgent, events: EventReader, minting: ChildProcess) {
    this.address = address;
    this.agent = agent;
    this.events = events;
    this.#minting = minting;
  }

  /** Returns when the agent is idle and its model has been offered the tools. */
  static async start(
    server: ThreadsServer,
    { program, role, part }: { readonly program: AgentProgram; readonly role: string; readonly part: Part },
  ): Promise<ThreadAgent> {
    const address = `town/${role}`;
    const file = join(server.dir, `${role}.token`);
    const agent = await startRealAgent({
      ...{ program, address, act: threadModel(part) },
      env: { XDG_RUNTIME_DIR: server.env["XDG_RUNTIME_DIR"] ?? "" },
      flags: ["--threads", server.url, "--threads-token", file],
    });
    const flags = ["--agent", address, "--role", role, "--file", file];
    const minting = spawn(process.execPath, [ownProgram("threads"), "token", ...flags], {
      env: { ...server.env },
      stdio: ["ignore", "ignore", "inherit"],
    });
    const started = new ThreadAgent(address, agent, new EventReader(agent.sidecar.client), minting);
    try {
      await started.#untilTools();
      return started;
    } catch (err) {
      await started[Symbol.asyncDispose]();
      throw err;
    }
  }

  /** Titles of the dialogs that it has shown up to now. */
  async dialogs(): Promise<readonly string[]> {
    const requestId = `last-${this.address.replace("/", "-")}`;
    await this.agent.sidecar.client.nudge({ message: "that is all", requestId, timeoutMs: 30_000n });
    await this.events.until("the last event", (event) => event.receipt?.requestId === requestId, 60_000);
    const opened = this.events.events.filter(({ type }) => type === EventType.DIALOG_OPENED);
    return opened.map(({ dialog }) => dialog?.title ?? "");
  }

  /** An agent program may ask its model before its MCP servers have answered. */
  async #untilTools(): Promise<void> {
    const { sidecar, model } = this.agent;
    const isIdle = async () => (await sidecar.client.status({})).state === AgentState.IDLE || undefined;
    await until(`${this.address} to be idle`, START_MS, isIdle, sidecar.log);
    await until(
      `${this.address} to offer the tools to its model`,
      TOOLS_MS,
      async () => {
        await sidecar.client.nudge({ message: "hello", timeoutMs: 30_000n });
        await sidecar.untilState(AgentState.IDLE);
        return model.requests.some(({ tools }) => hasThreadTools(tools)) || undefined;
      },
      () => JSON.stringify(model.requests.at(-1)?.tools),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#minting, "close");
    this.#minting.kill("SIGTERM");
    await closed;
    await this.events[Symbol.asyncDispose]();
    await this.agent[Symbol.asyncDispose]();
  }
}
