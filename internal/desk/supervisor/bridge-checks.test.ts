import { expect, it } from "vitest";
import { nodeOf, runTurn, type Step } from "../engine/engine.ts";
import { type BridgeCheckInput, checkCrossing } from "./bridge-checks.ts";
import { type GlobalState, globalChannels, globalState } from "./global-state.ts";

const step: Step = { turn: "t", signal: new AbortController().signal };
const routed = { route: "customer", rule: 1, reason: "" } as const;

/** Runs `check` in the place of the bridge, behind the supervisor's edge. */
async function behindEdge(check: (step: Step) => void): Promise<void> {
  const node = nodeOf<GlobalState>();
  const first = node({ name: "classify", reads: [], writes: [], run: async () => ({}) });
  const bridge = node({
    ...{ name: "bridge", reads: [], writes: [] },
    async run(_state, own) {
      check(own);
      return {};
    },
  });
  const edge = { reads: [] as const, to: { customer: bridge }, guarded: ["customer"], choose: () => "customer" };
  await runTurn({ channels: globalChannels, first, edge }, globalState("text", []), step);
}

const call = (own: Step, changed: Partial<BridgeCheckInput> = {}): BridgeCheckInput => ({
  ...{ admin_input: "text", intent: routed, step: own, maxBytes: 65_536 },
  ...changed,
});

it("accepts a call over the supervisor's edge, once", () =>
  behindEdge((own) => {
    expect(() => checkCrossing(call(own))).not.toThrow();
    expect(() => checkCrossing(call(own))).toThrow("the bridge refuses: origin");
  }));

it.each([
  ["no pass", undefined],
  ["a look-alike", { turn: "t", node: "bridge" }],
  ["an empty object", {}],
  ["a string", "bridge"],
])("refuses a caller with %s", (_, pass) => {
  expect(() => checkCrossing(call({ ...step, pass }))).toThrow("the bridge refuses: origin");
});

it.each([
  ["route", { intent: { ...routed, route: "answer" } }],
  ["route", { intent: null }],
  ["text", { admin_input: "" }],
  ["text", { admin_input: "\ud800" }],
  ["text", { admin_input: "é".repeat(32_769) }],
] as const)("refuses by %s, the first check that fails", (name, changed) =>
  behindEdge((own) => expect(() => checkCrossing(call(own, changed))).toThrow(`the bridge refuses: ${name}`)),
);
