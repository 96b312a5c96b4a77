import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { modelAct } from "../fakes/model-script.ts";
import type { ModelRequest } from "../fakes/model-wire.ts";
import { type RealAgent, type RealAgentSetup, startRealAgent } from "../support/agents/real-agent.ts";
import { component, requireComponent } from "../support/cluster/components.ts";
import { until } from "../support/sidecar/sidecar.ts";

const isNotice = ({ userTexts }: ModelRequest) => userTexts.at(-1)?.includes("<task-notification>") === true;

/** The usual model, except that it starts nothing when it learns that a background task has ended. */
function act(request: ModelRequest) {
  if (isNotice(request)) return { type: "say", text: "I see." } as const;
  return modelAct(request.lastUserText, request.tools, request.afterTool);
}

const start = (setup: RealAgentSetup) => startRealAgent({ act, ...setup });
const CLAUDE = ["--permission-mode", "default", "--allowedTools=Bash,Agent,Task"];

const behind = async ({ sidecar }: RealAgent) => {
  const { state, background, evidence } = await sidecar.client.status({});
  return { state, tasks: background.map(({ kind, title }) => `${kind} ${title}`), why: evidence[0]?.value };
};

async function untilBehind(agent: RealAgent, tasks: readonly string[]): Promise<void> {
  let seen: unknown;
  await until(
    `${tasks.length} tasks behind an idle agent`,
    40_000,
    async () => {
      const now = await behind(agent);
      seen = now;
      return (now.state === AgentState.IDLE && now.tasks.join() === tasks.join()) || undefined;
    },
    () => JSON.stringify(seen),
  );
}

/** The process with exactly this command line; the argument makes it unique to this test. */
function pidOf(argv: string): number | undefined {
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (readFileSync(`/proc/${name}/cmdline`, "latin1") === `${argv.replaceAll(" ", "\0")}\0`) return Number(name);
    } catch {} // it has ended meanwhile
  }
  return undefined;
}

const ownSeconds = () => 5000 + (process.pid % 4000) + Math.random();

/** A start costs more than a test: the second test begins where the first one ended. */
describe.each(["claude-2.1.330", "claude-2.1.197"] as const)("%s takes messages", (program) => {
  let agent: RealAgent;
  beforeEach((context) => requireComponent(context, "claude"));
  beforeAll(async () => {
    if ("missing" in (await component("claude"))) return;
    agent = await start({ program, args: CLAUDE });
  });
  afterAll(() => agent?.[Symbol.asyncDispose]());

  it("while a background shell runs, and the shell leaves the list when it is killed", async () => {
    const { client } = agent.sidecar;
    await agent.sidecar.untilState(AgentState.IDLE);
    const sleep = `sleep ${ownSeconds()}`;
    const asked = await client.nudge({ message: `RUN-BEHIND ${sleep}`, timeoutMs: 30_000n });
    expect(asked.outcome).toBe(NudgeOutcome.SUBMITTED);
    await untilBehind(agent, ["shell Runs a server"]);
    // The state file stays unchanged for as long as the shell runs.
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect(await behind(agent)).toMatchObject({ state: AgentState.IDLE, tasks: ["shell Runs a server"] });
    const begun = performance.now();
    const receipt = await client.nudge({ message: "marker-behind: hello", timeoutMs: 10_000n });
    expect(receipt).toMatchObject({ outcome: NudgeOutcome.SUBMITTED, error: "" });
    expect(performance.now() - begun).toBeLessThan(10_000);
    await until("the model to get it", 30_000, () => agent.model.arrivals("marker-behind") > 0 || undefined);
    await untilBehind(agent, ["shell Runs a server"]);
    process.kill(pidOf(sleep) ?? Number.NaN, "SIGKILL");
    await untilBehind(agent, []);
  });

  if (program === "claude-2.1.330")
    it("while a sub-agent works in the background", async () => {
      const { client } = agent.sidecar;
      await until("the notice of the shell's end", 30_000, () => agent.model.requests.some(isNotice) || undefined);
      await agent.sidecar.untilState(AgentState.IDLE);
      agent.model.wordDelayMs = 100;
      await client.nudge({ message: "ASK-HELPER TALK 150", timeoutMs: 30_000n });
      await untilBehind(agent, ["subagent Looks around"]);
      const receipt = await client.nudge({ message: "marker-beside: hello", timeoutMs: 10_000n });
      expect(receipt).toMatchObject({ outcome: NudgeOutcome.SUBMITTED, error: "" });
      await until("the model to get it", 30_000, () => agent.model.arrivals("marker-beside") > 0 || undefined);
      await untilBehind(agent, ["subagent Looks around"]);
      await untilBehind(agent, []);
    });
});

it("codex-0.169.0 takes messages while a terminal runs in the background", async (context) => {
  await requireComponent(context, "codex");
  const args = ["-a", "never", "-s", "danger-full-access"];
  await using agent = await start({ program: "codex-0.169.0", args });
  const { client } = agent.sidecar;
  await agent.sidecar.untilState(AgentState.IDLE);
  const sleep = `sleep ${ownSeconds()}`;
  await client.nudge({ message: `RUN-BEHIND ${sleep}`, timeoutMs: 30_000n });
  await untilBehind(agent, ["shell "]);
  const receipt = await client.nudge({ message: "marker-behind: hello", timeoutMs: 10_000n });
  expect(receipt).toMatchObject({ outcome: NudgeOutcome.SUBMITTED, error: "" });
  await untilBehind(agent, ["shell "]);
  process.kill(pidOf(sleep) ?? Number.NaN, "SIGKILL");
  await untilBehind(agent, []);
});
