import { expect, it } from "vitest";
import { planWakes, type WakeCandidate, type WakingMessage } from "./wake-plan.ts";

const one = (agentId: string, more: Partial<WakeCandidate> = {}): WakeCandidate => ({
  ...{ agentId, role: "worker", kind: "agent", wake: "all" },
  ...more,
});
const ALL = [
  one("sender"),
  one("all"),
  one("directed", { wake: "directed", role: "fixer" }),
  one("never", { wake: "never" }),
  one("person", { kind: "person" }),
  one("boss", { role: "orchestrator" }),
];
const ACTIVE = { status: "active", byGuard: false, orchestrator: "" } as const;
const message = (more: Partial<WakingMessage> = {}): WakingMessage => ({
  sender: "sender",
  urgency: "normal",
  ...more,
});

it.each([
  ["a broadcast", message(), ACTIVE, ["all", "boss"]],
  ["a quiet one", message({ urgency: "quiet" }), ACTIVE, []],
  ["one for named agents", message({ to: ["directed"], recipients: ["directed"] }), ACTIVE, ["directed"]],
  ["one for a role", message({ toRole: ["fixer"], recipients: ["directed"] }), ACTIVE, ["directed"]],
  ["one for somebody else", message({ to: ["never"], recipients: ["never"] }), ACTIVE, []],
  ["one in a resolved thread", message(), { status: "resolved", byGuard: false, orchestrator: "" }, ["all", "boss"]],
  [
    "one in a blocked thread, while another one is the orchestrator",
    message(),
    { status: "blocked", byGuard: false, orchestrator: "all" },
    [],
  ],
  ["one in a blocked thread", message(), { status: "blocked", byGuard: false, orchestrator: "" }, ["boss"]],
  ["one that the guard blocks", message(), { status: "blocked", byGuard: true, orchestrator: "" }, []],
  ["one in a closed thread", message(), { status: "closed", byGuard: false, orchestrator: "" }, []],
] as const)("%s wakes the right agents", (_, given, thread, wanted) => {
  expect(planWakes(given, thread, ALL).map((wake) => wake.agentId)).toEqual(wanted);
});

it("gives an agent in a long poll half a second, unless the message is urgent", () => {
  const delays = (urgency: WakingMessage["urgency"]) =>
    planWakes(message({ urgency }), ACTIVE, [one("all")])[0]?.delayMs;
  expect([delays("normal"), delays("urgent"), delays("interrupt")]).toEqual([500, 0, 0]);
});
