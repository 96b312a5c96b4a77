import { describe, expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import type { AgentProgram } from "../support/agents/agents-install.ts";
import { startRealAgent } from "../support/agents/real-agent.ts";
import { type Component, requireComponent } from "../support/cluster/components.ts";
import { until } from "../support/sidecar/sidecar.ts";

/** The messages to each agent, with the part that must be in the model's conversation exactly once. */
const MESSAGES: readonly (readonly [kind: string, message: string, arrives: string])[] = [
  ["one short line", "marker-short: say hello", "marker-short: say hello"],
  ["five lines, one blank, one indented", "marker-lines\ntwo\n\n  four\nfive", "marker-lines\ntwo\n\n  four\nfive"],
  ["1 KiB in one line", `marker-long ${"word ".repeat(200)}end`, `marker-long ${"word ".repeat(200)}end`],
  ["wide and joined characters", "marker-wide 日本語 👩‍👩‍👧 é", "marker-wide 日本語 👩‍👩‍👧 é"],
  ["a first exclamation mark", "!marker-bang", "!marker-bang"],
  ["a first slash", "/marker-slash", "/marker-slash"],
  ["a first dash and a last semicolon", "-n marker-dash;", "-n marker-dash;"],
];

const AGENTS: readonly (readonly [component: Component, program: AgentProgram])[] = [
  ["claude", "claude-2.1.330"],
  ["claude", "claude-2.1.197"],
  ["codex", "codex-0.169.0"],
  ["opencode", "opencode-1.18.33"],
];

describe.concurrent.each(AGENTS)("a real agent under a sidecar: %s %s", (component, program) => {
  it("takes each kind of message once, as the model's log and the receipt agree", async (context) => {
    await requireComponent(context, component);
    await using agent = await startRealAgent({ program });
    const { client } = agent.sidecar;
    await agent.sidecar.untilState(AgentState.IDLE);
    for (const [kind, message, arrives] of MESSAGES) {
      const receipt = await client.nudge({ message, timeoutMs: 30_000n });
      expect(receipt, kind).toMatchObject({ outcome: NudgeOutcome.SUBMITTED, error: "" });
      await until(`the model to get ${kind}`, 60_000, () => agent.model.arrivals(arrives) > 0 || undefined);
    }
    await agent.sidecar.untilState(AgentState.IDLE);
    for (const [kind, , arrives] of MESSAGES) expect(agent.model.arrivals(arrives), kind).toBe(1);
    const { output } = await client.peek({ lines: 50 });
    expect(output).toContain("marker-");
  });
});
