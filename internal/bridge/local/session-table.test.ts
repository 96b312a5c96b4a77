import { expect, it } from "vitest";
import type { SessionState } from "./session-state.ts";
import { SessionTable } from "./session-table.ts";

const ended = (project: string, id: string, at: number, bytes = 0) => ({
  request: { project, id, provider: "demo", repoPath: "/", agentOpts: {} },
  ...{ createdAt: 0, hasEnded: true, log: { bytes } },
  state: { type: "stopped", at, why: "AgentExited" } as const,
});

function gone(sessions: readonly ReturnType<typeof ended>[]): readonly string[] {
  const table = new SessionTable<ReturnType<typeof ended>>({ maxPerProject: 5, maxGlobal: 20 });
  for (const session of sessions) table.add(session);
  return table.overflow().map(({ request: { project, id } }) => `${project}/${id}`);
}

const MIB = 1024 * 1024;

it("drops the oldest sessions of the project that keeps the most sessions", () => {
  const loud = Array.from({ length: 1001 }, (_, i) => ended("loud", `s${i}`, i + 1));
  expect(gone([ended("quiet", "first", 0), ...loud])).toEqual(["loud/s0", "loud/s1"]);
});

it("drops the oldest sessions of the project that keeps the most bytes", () => {
  const loud = Array.from({ length: 17 }, (_, i) => ended("loud", `s${i}`, i + 1, 16 * MIB));
  expect(gone([ended("quiet", "first", 0, 16 * MIB), ...loud])).toEqual(["loud/s0", "loud/s1"]);
});

it("drops none while there is room for all", () => {
  expect(gone([ended("a", "1", 1, 128 * MIB), ended("b", "1", 2, 128 * MIB)])).toEqual([]);
});

it("allows one session at a time for a named agent", () => {
  const live = { ...ended("shop", "first", 0), hasEnded: false, state: { type: "running" } as const };
  const table = new SessionTable<Omit<typeof live, "state"> & { readonly state: SessionState }>({
    ...{ maxPerProject: 5, maxGlobal: 20 },
  });
  const request = { ...live.request, agentOpts: { agent: "fixer" } };
  table.add({ ...live, request });
  const next = (project: string, agentOpts: Record<string, string>) => () =>
    table.checkAgent({ ...request, project, id: "next", agentOpts });
  expect(next("shop", { agent: "fixer" })).toThrow("the agent shop/fixer has a session: first");
  for (const other of [next("shop", { agent: "other" }), next("shop", {}), next("yard", { agent: "fixer" })]) other();
  table.add({ ...live, request, ...{ hasEnded: true, state: { type: "stopped", at: 1, why: "AgentExited" } } });
  next("shop", { agent: "fixer" })();
});
