import { describe, expect, it } from "vitest";
import { AgentState, EventType, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { abortOnExit } from "../../internal/rpc/client/transport.ts";
import { Hands } from "../lab/hands.ts";
import type { AgentProgram } from "../support/agents/agents-install.ts";
import { startRealAgent } from "../support/agents/real-agent.ts";
import { type Component, requireComponent } from "../support/cluster/components.ts";
import { until } from "../support/sidecar/sidecar.ts";

const PER_ANSWER = 25;
const SIZES: readonly (readonly [cols: number, rows: number])[] = [
  [120, 40],
  [80, 24],
  [160, 50],
];
const PRINTED = PER_ANSWER * SIZES.length;
const nameOf = (n: number) => `item-${String(n).padStart(4, "0")}`;
const itemOf = (n: number) =>
  [nameOf(n), ...Array.from({ length: (n % 7) * 5 }, (_, i) => `${n}${"abcdefghij"[i % 10]}${i}`)].join(" ");

/** Independent of how the agent wraps its lines. */
const lettersOf = (text: string) => text.replace(/[^a-z0-9]/g, "");

/**
 * True for an item in one piece, or in pieces: a slow agent reports the end of its turn before the end of a line is on
 * the screen, and the rest is reported later. No two words of the items are the same.
 */
function isTold(item: string, told: string): boolean {
  if (lettersOf(told).includes(lettersOf(item))) return true;
  const places = item.split(" ").map((word) => told.search(new RegExp(`\\b${word}\\b`)));
  return places.every((place, i) => place > (places[i - 1] ?? -1));
}

const AGENTS: readonly (readonly [component: Component, program: AgentProgram])[] = [
  ["claude", "claude-2.1.330"],
  ["codex", "codex-0.169.0"],
];

describe.concurrent.each(AGENTS)("the events of a real agent: %s %s", (component, program) => {
  it("report each line of its answers, and hardly any line twice, while the window is resized", async (context) => {
    await requireComponent(context, component);
    await using agent = await startRealAgent({
      program,
      wordDelayMs: 5,
      act: ({ lastUserText }) => {
        const answer = Number(/go on (\d+)/.exec(lastUserText)?.[1] ?? Number.NaN);
        const items = Array.from({ length: PER_ANSWER }, (_, i) => `- ${itemOf(answer * PER_ANSWER + i)}`);
        return { type: "say", text: Number.isNaN(answer) ? "yes" : items.join("\n") };
      },
    });
    const { client, untilState } = agent.sidecar;
    let told = "";
    const leave = new AbortController();
    const reading = (async () => {
      for await (const event of abortOnExit((signal) => client.streamEvents({}, { signal }), leave.signal))
        if (event.type === EventType.STDOUT) told += event.text;
    })().catch(() => {});
    await untilState(AgentState.IDLE);
    const hands = new Hands(agent.sidecar);
    for (const [i, size] of SIZES.entries()) {
      const receipt = await client.nudge({ message: `go on ${i}`, timeoutMs: 30_000n });
      expect(receipt.outcome).toBe(NudgeOutcome.SUBMITTED);
      await hands.resize(...size);
      await untilState(AgentState.IDLE);
      await until("the last line", 30_000, () => told.includes(nameOf((i + 1) * PER_ANSWER - 1)) || undefined);
    }
    leave.abort();
    await reading;
    const items = Array.from({ length: PRINTED }, (_, n) => n);
    expect(items.filter((n) => !isTold(itemOf(n), told))).toEqual([]);
    const times = items.map((n) => told.split(nameOf(n)).length - 1);
    expect(times.reduce((sum, count) => sum + count, 0)).toBeLessThan(PRINTED * 1.15);
  });
});
