import { expect, it } from "vitest";
import { DEFAULT_POLICY } from "../domain/policy.ts";
import type { TakenConversation, TurnRunner } from "../domain/runtimes.ts";
import type { WakeAttempt } from "../domain/types.ts";
import type { NamedConversation } from "../domain/wake-store.ts";
import { takeConversation } from "./conversation-turns.ts";

const NAMED = { id: "c-1", role: "fixer", isStale: false, isRecent: false, isOfBridge: false, failures: 0 };
const TARGET = { workspace: "shop", wake: { agentId: "coder" } };
const taken: TakenConversation = {
  run: () => Promise.reject(new Error("no turn is run here")),
  [Symbol.asyncDispose]: async () => {},
};

interface Facts {
  readonly named?: Partial<NamedConversation> | "none";
  readonly unmanaged?: "refuse" | "resume" | "spawn";
  readonly kinds?: readonly WakeAttempt["kind"][];
  readonly takes?: Awaited<ReturnType<TurnRunner["take"]>>;
}

async function take({ named = {}, unmanaged = "resume", kinds = [], takes }: Facts) {
  const asked: string[] = [];
  const runner: TurnRunner = {
    take: async (...which) => {
      asked.push(which.join(" "));
      return takes;
    },
  };
  const wakes = { conversation: async () => (named === "none" ? undefined : { ...NAMED, ...named }) };
  const attempts = kinds.map((kind) => ({ kind }) as WakeAttempt);
  const found = await takeConversation(wakes, runner, TARGET, attempts, { ...DEFAULT_POLICY, unmanaged });
  return { found, asked };
}

it.each<[string, Facts]>([
  ["the policy allows it", {}],
  ["the policy even spawns", { unmanaged: "spawn" }],
  ["one turn for the wake could not begin", { kinds: ["live", "live", "resume"] }],
  ["two turns had no proof lately", { named: { failures: 2 } }],
])("a conversation is taken when %s", async (_, facts) => {
  expect(await take({ ...facts, takes: taken })).toEqual({ found: { role: "fixer", taken }, asked: ["shop c-1"] });
});

it.each<[string, Facts]>([
  ["the policy refuses", { unmanaged: "refuse" }],
  ["two turns for the wake could not begin", { kinds: ["resume", "resume"] }],
  ["none has been named", { named: "none" }],
  ["the agent is stale", { named: { isStale: true } }],
  ["the agent may run elsewhere", { named: { isRecent: true } }],
  ["the agent is a bridge's", { named: { isOfBridge: true } }],
  ["three turns had no proof lately", { named: { failures: 3 } }],
])("a conversation is left alone when %s", async (_, facts) => {
  expect(await take({ ...facts, takes: taken })).toEqual({ found: undefined, asked: [] });
});

it("a conversation that is open, or another one's turn, is not taken", async () => {
  expect((await take({})).found).toBeUndefined();
  expect((await take({ takes: "busy" })).found).toEqual({ role: "fixer", taken: "busy" });
});
