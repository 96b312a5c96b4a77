import { existsSync } from "node:fs";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentState } from "../../../internal/gen/gastown/v1/common_pb.ts";
import type { AgentKind } from "../../support/agents/agents-home.ts";
import type { AgentProgram } from "../../support/agents/agents-install.ts";
import { type RealAgent, startRealAgent } from "../../support/agents/real-agent.ts";
import { until } from "../../support/sidecar/sidecar.ts";
import type { DialogCase } from "./dialog-case.ts";
import { dialogAct } from "./dialog-model.ts";

const PROGRAMS: Readonly<Record<AgentKind, AgentProgram>> = {
  claude: "claude-2.1.330",
  codex: "codex-0.169.0",
  opencode: "opencode-1.18.33",
};

/** Long, for machines with other work: OpenCode takes 10 s of a core. */
const STARTS_MS = 300_000;

const RAN = `#!/bin/sh\nbasename "$0" >> ran.log\n`;

/** A real agent that asks as the cases demand, and the record of its actions. */
export class DialogBed {
  readonly agent: RealAgent;
  readonly #cases: Map<string, DialogCase>;

  private constructor(agent: RealAgent, cases: Map<string, DialogCase>) {
    this.agent = agent;
    this.#cases = cases;
  }

  /** An agent for this case and similar ones. */
  static async start(
    { agent: kind, size: [cols, rows] }: DialogCase,
    sidecarProgram: string | undefined,
  ): Promise<DialogBed> {
    const cases = new Map<string, DialogCase>();
    let workdir = "";
    const agent = await startRealAgent({
      program: PROGRAMS[kind],
      flags: ["--cols", String(cols), "--rows", String(rows)],
      act: (request) => dialogAct(request, cases, workdir),
      sidecarProgram,
    });
    workdir = agent.workdir;
    try {
      const isIdle = async () => (await agent.sidecar.client.status({})).state === AgentState.IDLE || undefined;
      await until("an agent that has started", STARTS_MS, isIdle);
    } catch (err) {
      await agent[Symbol.asyncDispose]();
      throw err;
    }
    return new DialogBed(agent, cases);
  }

  /** Tells the model about the case, and creates its program. */
  async prepare(one: DialogCase): Promise<void> {
    this.#cases.clear();
    this.#cases.set(one.id, one);
    if (one.ask.type !== "command") return;
    const file = join(this.agent.workdir, one.ask.program);
    await writeFile(file, RAN);
    await chmod(file, 0o755);
  }

  /** Whether the tool of the case did its work. */
  async didRun({ ask }: DialogCase): Promise<boolean> {
    const { workdir } = this.agent;
    if (ask.type === "write") return existsSync(join(workdir, ask.file));
    if (ask.type === "question") return false;
    const ran = await readFile(join(workdir, "ran.log"), "utf8").catch(() => "");
    return ran.split("\n").includes(ask.program);
  }

  /** The result of the case's tool that the model received; undefined before that. */
  toolResult({ id }: DialogCase): string | undefined {
    const asked = this.agent.model.requests.findLast(
      (one) => one.withTools && one.afterTool && one.lastUserText.includes(`CASE ${id}`),
    );
    return asked?.toolResult;
  }

  /** Returns to an idle agent, with Escape if a dialog is still open; false if that fails. */
  async settle(): Promise<boolean> {
    const { client } = this.agent.sidecar;
    let pressedAt = performance.now();
    try {
      await until("an idle agent", 60_000, async () => {
        const { state } = await client.status({});
        if (state === AgentState.IDLE) return true;
        if (state === AgentState.DIALOG && performance.now() - pressedAt > 3000) {
          pressedAt = performance.now();
          await client.sendKeys({ keys: ["Escape"] });
        }
        return undefined;
      });
      return true;
    } catch {
      return false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.agent[Symbol.asyncDispose]();
  }
}
