import { AgentState } from "../../../internal/gen/gastown/v1/common_pb.ts";
import type { AgentProgram } from "../../support/agents/agents-install.ts";
import { type RealAgent, startRealAgent } from "../../support/agents/real-agent.ts";
import { eventually } from "../../support/eventually.ts";
import { KillOnce } from "../../support/threads/kill-once.ts";
import type { ThreadsServer } from "../../support/threads/threads-server.ts";

/** An agent program takes a minute to start while other work has the cores. */
const IDLE_MS = 240_000;

/** An agent in a sidecar, to be woken. */
export interface WakeTarget extends AsyncDisposable {
  readonly address: string;
  /** The texts that it received. */
  readonly taken: readonly string[];
  /** Kills the serving half of its sidecar. False: it has not come back since the last kill. */
  killServing(): boolean;
  /** Resolves when `taken` is complete; absent: it always is. */
  idle?(): Promise<void>;
}

/** The agent programs, by the name that `--real` takes. */
export const REAL_PROGRAMS: Readonly<Record<string, AgentProgram>> = {
  claude: "claude-2.1.330",
  codex: "codex-0.169.0",
  opencode: "opencode-1.18.33",
};

/** A real agent program to be woken; its model's log is the truth about the texts that it received. */
export class RealTarget implements WakeTarget {
  readonly address: string;
  readonly #agent: RealAgent;
  readonly #kills = new KillOnce();

  private constructor(address: string, agent: RealAgent) {
    this.address = address;
    this.#agent = agent;
  }

  static async start(program: AgentProgram, address: string, server: ThreadsServer): Promise<RealTarget> {
    const agent = await startRealAgent({
      ...{ program, address, act: () => ({ type: "say", text: "Understood." }) },
      env: { XDG_RUNTIME_DIR: server.env["XDG_RUNTIME_DIR"] ?? "" },
    });
    const target = new RealTarget(address, agent);
    try {
      await target.idle();
      return target;
    } catch (err) {
      await target[Symbol.asyncDispose]();
      throw err;
    }
  }

  /** A receipt may arrive before the agent program has called its model. */
  async idle(): Promise<void> {
    const { client } = this.#agent.sidecar;
    const isIdle = () =>
      client.status({}).then(
        ({ state }) => state === AgentState.IDLE,
        () => false,
      );
    await eventually(`${this.address} is idle`, isIdle, IDLE_MS);
  }

  killServing(): boolean {
    return this.#kills.kill(this.#agent.sidecar.servingPid());
  }

  get taken(): readonly string[] {
    return textsOf(this.#agent.model.requests.map(({ userTexts }) => userTexts));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent[Symbol.asyncDispose]();
  }
}

/**
 * The wakes' texts in all conversations, each as often as in the conversation that contains it most often: a request
 * repeats the conversation so far, and a compacted conversation has lost its beginning.
 */
export function textsOf(conversations: readonly (readonly string[])[]): readonly string[] {
  const most = new Map<string, number>();
  for (const texts of conversations) {
    const here = new Map<string, number>();
    for (const line of texts.flatMap((text) => text.split("\n")))
      if (line.startsWith("[threads w-")) here.set(line, (here.get(line) ?? 0) + 1);
    for (const [line, times] of here) most.set(line, Math.max(times, most.get(line) ?? 0));
  }
  return [...most].flatMap(([line, times]) => Array.from({ length: times }, () => line));
}
