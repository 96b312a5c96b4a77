import { describe, expect, it } from "vitest";
import { DEFAULT_POLICY } from "./policy.ts";
import { adoptedSession, areTemplates, optionsFor, planRecovery, type RecoveryFacts, templateFor } from "./recovery.ts";

const last = {
  sessionId: "s",
  provider: "codex",
  repoPath: "/r",
  agentOpts: {},
  agentSessionId: "c-1",
  isStale: false,
};
const template = { provider: "claude", repo_path: "/r" };
const FACTS: RecoveryFacts = {
  ...{
    last,
    isManaged: true,
    isRecent: false,
    canResume: true,
    resumes: 0,
    spawns: 0,
    recentStarts: 0,
    hourlySpawns: 0,
    template,
  },
};

describe("an agent whose runtime has ended", () => {
  it.each<[string, Partial<RecoveryFacts>, string]>([
    ["has its conversation resumed", {}, "resume"],
    ["is resumed once more after the resumed one has ended", { resumes: 1, recentStarts: 1 }, "resume"],
    ["is spawned after two resumes", { resumes: 2, recentStarts: 2 }, "spawn"],
    ["is spawned when its session is stale", { last: { ...last, isStale: true } }, "spawn"],
    ["is spawned in a crash loop", { recentStarts: 3 }, "spawn"],
    ["is spawned when its conversation is unknown", { last: { ...last, agentSessionId: "" } }, "spawn"],
    ["is spawned if its program cannot resume", { canResume: false }, "spawn"],
    ["waits when five were spawned within the hour", { canResume: false, hourlySpawns: 5 }, "wait"],
    ["is escalated without a template", { canResume: false, template: undefined }, "escalate"],
    ["is escalated after the spawned one has ended, too", { spawns: 1, recentStarts: 1 }, "escalate"],
    [
      "is left alone if no runtime has ever confirmed it",
      { last: undefined, isManaged: false, canResume: false },
      "unmanaged",
    ],
  ])("%s", (_, facts, type) => {
    expect(planRecovery({ ...FACTS, ...facts }, DEFAULT_POLICY)).toEqual({ type });
  });

  it.each<[string, Partial<RecoveryFacts>, string, string, string]>([
    ["whose conversation is known", {}, "unmanaged", "resume", "resume"],
    ["that has called lately", { isRecent: true }, "unmanaged", "unmanaged", "unmanaged"],
    ["that is not known", { last: undefined }, "unmanaged", "unmanaged", "spawn"],
    ["of a stale session", { last: { ...last, isStale: true } }, "unmanaged", "unmanaged", "spawn"],
    ["whose two resumes have ended", { resumes: 2 }, "unmanaged", "escalate", "spawn"],
    ["without a template", { last: undefined, template: undefined }, "unmanaged", "unmanaged", "escalate"],
  ])("is brought back as far as the policy says if no runtime has confirmed it: one %s", (_, facts, ...steps) => {
    const known = { ...FACTS, isManaged: false, ...facts };
    const planned = (["refuse", "resume", "spawn"] as const).map((unmanaged) =>
      planRecovery(known, { ...DEFAULT_POLICY, unmanaged }),
    );
    expect(planned.map(({ type }) => type)).toEqual(steps);
  });
});

it("a template is that of the role, or of every role", () => {
  const spawn = { worker: template, "*": { ...template, provider: "demo" }, broken: { provider: 1 } };
  expect(templateFor(spawn, "worker")?.provider).toBe("claude");
  expect(templateFor(spawn, "reviewer")?.provider).toBe("demo");
  expect(templateFor(spawn, "toString")?.provider).toBe("demo");
  expect(templateFor(spawn, "broken")).toBeUndefined();
  expect(templateFor({}, "worker")).toBeUndefined();
  expect(areTemplates({ worker: template })).toBe(true);
  for (const wrong of [spawn, [], { a: { ...template, shell: "x" } }, { a: { ...template, agent_opts: { m: 1 } } }]) {
    expect(areTemplates(wrong)).toBe(false);
  }
});

it("the conversation of an unmanaged agent continues as the template of its role says", () => {
  const unmanaged = { agentSessionId: "c-2", isStale: false, isRecent: false };
  expect(adoptedSession(unmanaged, template)).toEqual({
    ...{ sessionId: "", provider: "claude", repoPath: "/r", agentOpts: {}, agentSessionId: "c-2", isStale: false },
  });
  expect(adoptedSession(unmanaged, undefined)).toBeUndefined();
  expect(adoptedSession({ ...unmanaged, agentSessionId: "" }, template)).toBeUndefined();
  expect(adoptedSession(undefined, template)).toBeUndefined();
});

it("a session of the agent keeps its name, and only the conversation to resume", () => {
  const options = { mode: "terminal", resume: "old", agent: "someone" };
  expect(optionsFor("shop", "shop/fix/er", options)).toEqual({ mode: "terminal", agent: "fix/er" });
  expect(optionsFor("shop", "fixer", {})).toEqual({ agent: "fixer" });
});
