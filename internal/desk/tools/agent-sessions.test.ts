import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type ScriptedAgent, ScriptedProvider } from "../../../test/fakes/scripted-provider.ts";
import { AllowedFiles } from "../../files/allowed-files.ts";
import { AgentSessions } from "./agent-sessions.ts";
import { FileTool } from "./file-tool.ts";

let stack: DisposableStack;
let folder: string;
beforeEach(() => {
  stack = new DisposableStack();
  folder = mkdtempSync(join(tmpdir(), "desk-sessions-"));
  stack.defer(() => rmSync(folder, { recursive: true }));
});
afterEach(() => stack.dispose());

/** Sessions of scripted agents. The agents are numbered from 0; `list(at)` makes agent `at` read its list of tools. */
function makeSessions(limit = 8) {
  const provider = new ScriptedProvider();
  const admissions: PromiseWithResolvers<void>[] = [];
  const released: string[] = [];
  const door = {
    listening: Promise.resolve({ host: "127.0.0.1", port: 1 }),
    admit: () => {
      const listed = Promise.withResolvers<void>();
      admissions.push(listed);
      return { listed: listed.promise, [Symbol.dispose]: () => {} };
    },
  };
  const release = (id: string) => void released.push(id);
  const setting = { providerOf: () => provider, release, options: {}, cwd: folder, door, instructions: "Be brief." };
  const sessions = new AgentSessions(setting, () => limit);
  const allowed = { patterns: [], maxBytes: 1000 };
  const files = new FileTool(stack.use(new AllowedFiles(folder, "/docs")), allowed, () => {});
  const ask = (thread: string, input: string, signal = new AbortController().signal) =>
    sessions.answer({ thread, input, isBriefing: false, history: [], files, signal });
  const agent = (at: number) => vi.waitFor(() => found(provider.agents[at]));
  const inputs = (at: number) => provider.agents[at]?.inputs.map(({ text }) => text.split("\n").at(-1)) ?? [];
  const forget = (thread: string) => sessions.forget(thread);
  return { ask, forget, agent, inputs, provider, released, list: (at: number) => admissions[at]?.resolve() };
}

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("not there yet");
  return value;
}

function answer(agent: ScriptedAgent, words: string): void {
  agent.say({ type: "phase", state: "busy" });
  agent.say({ type: "output", stream: "stdout", text: `${words}● tool\n`, modelChars: words.length });
  agent.say({ type: "phase", state: "idle" });
}

it("sends an agent no message before it has its list of tools", async () => {
  const { ask, agent, inputs, list } = makeSessions();
  const asked = ask("main", "first");
  const first = await agent(0);
  for (let turns = 0; turns < 50; turns++) await Promise.resolve();
  expect(inputs(0)).toEqual([]);
  list(0);
  await vi.waitFor(() => expect(inputs(0)).toEqual(["first"]));
  answer(first, "an answer");
  expect(await asked).toBe("an answer");
});

it("ends the turn and the agent if the limit passes before the list arrives", async () => {
  const { ask, agent, inputs, released } = makeSessions();
  const limit = new AbortController();
  const asked = ask("main", "first", limit.signal);
  const first = await agent(0);
  limit.abort(new Error("too long"));
  await expect(asked).rejects.toThrow("too long");
  expect(inputs(0)).toEqual([]);
  expect(first.stops).toEqual([0]);
  expect(released).toEqual([first.config.sessionId]);
});

it("starts another agent for a thread whose agent has died between two turns", async () => {
  const { ask, agent, inputs, list, released } = makeSessions();
  const asked = ask("main", "first");
  const first = await agent(0);
  list(0);
  await vi.waitFor(() => expect(inputs(0)).toHaveLength(1));
  answer(first, "one");
  expect(await asked).toBe("one");
  // Its end becomes known only with the next message.
  first.outcome = { outcome: "agent-dead", error: "the agent has ended" };
  const again = ask("main", "second");
  const second = await agent(1);
  list(1);
  await vi.waitFor(() => expect(inputs(1)).toEqual(["second"]));
  answer(second, "two");
  expect(await again).toBe("two");
  expect(released).toEqual([first.config.sessionId]);
});

it("stops the agent of a forgotten thread, and starts another one if the thread continues", async () => {
  const { ask, forget, agent, inputs, list, released } = makeSessions();
  const asked = ask("main", "first");
  const first = await agent(0);
  list(0);
  await vi.waitFor(() => expect(inputs(0)).toHaveLength(1));
  answer(first, "one");
  await asked;
  forget("main");
  await vi.waitFor(() => expect(released).toEqual([first.config.sessionId]));
  const again = ask("main", "second");
  const second = await agent(1);
  list(1);
  await vi.waitFor(() => expect(inputs(1)).toEqual(["second"]));
  answer(second, "two");
  expect(await again).toBe("two");
});

it("ends the turn of an agent that dies while it receives the message", async () => {
  const { ask, agent, list } = makeSessions();
  const asked = ask("main", "first");
  const first = await agent(0);
  const hold = Promise.withResolvers<void>();
  first.hold = hold.promise;
  list(0);
  await vi.waitFor(() => expect(first.inputs).toHaveLength(1));
  first.end("the agent was ended by SIGKILL");
  await new Promise((resolve) => setImmediate(resolve));
  hold.resolve();
  await expect(asked).rejects.toMatchObject({ message: "agent unavailable" });
});

it("runs no more agents than its limit: it stops the one that was idle longest, and a turn waits while all are busy", async () => {
  const { ask, agent, inputs, list, provider } = makeSessions(2);
  const asked = [ask("a", "a1"), ask("b", "b1")];
  await agent(1);
  const third = ask("c", "c1");
  for (const at of [0, 1]) list(at);
  await vi.waitFor(() => expect([...inputs(0), ...inputs(1)]).toEqual(["a1", "b1"]));
  expect(provider.agents).toHaveLength(2);
  answer(await agent(0), "a");
  expect(await asked[0]).toBe("a");
  const last = await agent(2);
  expect(provider.agents[0]?.stops).toEqual([0]);
  list(2);
  await vi.waitFor(() => expect(inputs(2)).toEqual(["c1"]));
  answer(last, "c");
  answer(await agent(1), "b");
  expect(await Promise.all([third, asked[1]])).toEqual(["c", "b"]);
});

it("ends the turn of an agent that prints without end", async () => {
  const { ask, agent, inputs, list } = makeSessions();
  const asked = ask("main", "first");
  const first = await agent(0);
  list(0);
  await vi.waitFor(() => expect(inputs(0)).toHaveLength(1));
  first.say({ type: "phase", state: "busy" });
  for (let i = 0; i < 30; i++) first.print("x".repeat(10_000));
  await expect(asked).rejects.toMatchObject({ message: "agent unavailable" });
  expect(first.stops).toEqual([0]);
});

it("starts another agent for a thread's next turn while the agent of an aborted turn is being stopped", async () => {
  const { ask, agent, inputs, list, provider } = makeSessions();
  const limit = new AbortController();
  const cut = ask("main", "first", limit.signal);
  const first = await agent(0);
  list(0);
  await vi.waitFor(() => expect(inputs(0)).toEqual(["first"]));
  first.say({ type: "phase", state: "busy" });
  limit.abort(new Error("too long"));
  const next = ask("main", "second");
  await expect(cut).rejects.toThrow("too long");
  const second = await agent(1);
  list(1);
  await vi.waitFor(() => expect(inputs(1)).toEqual(["second"]));
  answer(second, "two");
  expect(await next).toBe("two");
  expect(provider.agents.map(({ stops }) => stops)).toEqual([[0], []]);
});

it.each([
  ["whose model has refused", "The model is overloaded.", true as const],
  ["without an answer", "", undefined],
])("ends a turn %s, and keeps its agent for the next one", async (_turn, words, hasFailed) => {
  const { ask, agent, inputs, list } = makeSessions();
  const asked = ask("main", "first");
  const first = await agent(0);
  list(0);
  await vi.waitFor(() => expect(inputs(0)).toHaveLength(1));
  first.say({ type: "phase", state: "busy" });
  first.say({ type: "output", stream: "stdout", text: `${words}● tool\n`, modelChars: words.length });
  first.say({ type: "phase", state: "idle", hasFailed: hasFailed || undefined });
  await expect(asked).rejects.toMatchObject({ message: "agent unavailable" });
  const again = ask("main", "second");
  await vi.waitFor(() => expect(inputs(0)).toEqual(["first", "second"]));
  // The instructions come again: the agent may have kept nothing of the failed turn.
  expect(first.inputs[1]?.text).toContain("Be brief.");
  answer(first, "two");
  expect(await again).toBe("two");
});

it("waits for the end of a turn whose agent has not confirmed the message in time", async () => {
  const { ask, agent, inputs, list } = makeSessions();
  const asked = ask("main", "first");
  const first = await agent(0);
  first.outcome = { outcome: "unknown", error: "the agent's answer to a message: not within 30000 ms" };
  list(0);
  await vi.waitFor(() => expect(inputs(0)).toHaveLength(1));
  for (let turns = 0; turns < 50; turns++) await Promise.resolve();
  answer(first, "late");
  expect(await asked).toBe("late");
});
