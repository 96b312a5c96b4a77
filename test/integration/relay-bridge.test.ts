import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { BridgeBed, task } from "../support/relay/bridge-bed.ts";
import { type RelayProcess, runRelay } from "../support/relay/relay-process.ts";
import { until } from "../support/sidecar/sidecar.ts";

const TIMES = { timeout: 300_000 };

let bed: BridgeBed;
let relay: RelayProcess;

beforeAll(async () => {
  bed = await BridgeBed.create(() => ({ sessions: { max_per_project: 40, max_global: 50 } }));
  const roles = {
    coding: bed.role(),
    spoken: bed.role({ agent_opts: { mode: "stdio" } }),
    fresh: bed.role({ fresh: true }),
    nowhere: bed.role({ repo_path: "/no/such/folder" }),
  };
  relay = await bed.relay("main", roles);
}, TIMES.timeout);
afterAll(async () => {
  await relay?.[Symbol.asyncDispose]();
  await bed?.[Symbol.asyncDispose]();
});

const client = () => bed.folder.client(bed.bridge, bed.folder.prd);

/**
 * The bridge's sessions of a lane, each once: between two works the relay leaves a session if another lane has work.
 */
async function sessionsOf(session: string, role = "coding"): Promise<readonly string[]> {
  const events = await bed.coordinator.stored("RELAY_EVENTS", `sessions.${session}.events`);
  const connected = events.filter(({ body }) => body["type"] === "agent.connected");
  const payloads = connected.map(({ body }) => body["payload"] as Readonly<Record<string, string>>);
  const ids = payloads.flatMap(({ role: of, session: id }) => (of === role && id !== undefined ? [id] : []));
  return [...new Set(ids)];
}

const readText = /success: [\s\S]*● Read your message \(2 words\)/;

describe.concurrent("an agent in a terminal of a bridge", () => {
  it("does its lane's work in one session, and its lines become the answer", TIMES, async () => {
    await bed.coordinator.work("keep", task("k1", "hello there"));
    await bed.coordinator.work("keep", task("k2", "and again"));
    const [first, second] = await bed.answers("keep", 2);
    expect(first).toMatch(/^k1 success: [\s\S]*● Edit\([\s\S]*● Read your message \(2 words\)/);
    expect(second).toMatch(/^k2 success: [\s\S]*● Read your message \(2 words\)/);
    expect(second).not.toContain("hello there");
    expect((await bed.taken()).filter((text) => ["hello there", "and again"].includes(text))).toEqual([
      ...["hello there", "and again"],
    ]);
    const sessions = await sessionsOf("keep");
    expect(sessions).toHaveLength(1);
    expect(await client().getSession({ sessionId: sessions[0] ?? "" })).toMatchObject({
      ...{ provider: "demo", status: SessionStatus.RUNNING, agentOpts: { mode: "terminal" } },
    });
    const [{ header } = { header: () => "" }] = await bed.coordinator.results("keep", 2);
    expect(header("Relay-Dialect")).toBe("bridge");
  });

  it("has its dialogs granted and refused on the session's approvals", TIMES, async () => {
    await bed.coordinator.work("asks", task("a1", "run: make build"));
    const asked = await bed.approval("asks", 1);
    const { work_id, role, tool_call, options } = asked.body["payload"] as Record<string, unknown>;
    expect({ work_id, role }).toEqual({ work_id: "a1", role: "coding" });
    expect(JSON.stringify(tool_call)).toContain("make build");
    expect(options).toContainEqual(expect.objectContaining({ kind: "allow_once" }));
    await bed.decide("asks", asked, "granted");
    expect(await bed.answers("asks", 1)).toEqual([expect.stringMatching(/^a1 success: /)]);
    await bed.coordinator.work("asks", task("a2", "run: make clean"));
    await bed.decide("asks", await bed.approval("asks", 2), "rejected");
    expect(await bed.answers("asks", 2)).toEqual([expect.anything(), expect.stringMatching(/^a2 success: /)]);
    const tools = await until("the tool", 60_000, () => bed.tools());
    expect(tools).toContain("make build");
    expect(tools).not.toContain("make clean");
  });

  it("is replaced by one in a new session when its session has ended", TIMES, async () => {
    await bed.coordinator.work("ends", task("e1", "one two"));
    await bed.answers("ends", 1);
    const [id = ""] = await sessionsOf("ends");
    await client().stopSession({ sessionId: id, force: true });
    await until("the end", 60_000, async () => !(await bed.running()).includes(id) || undefined);
    await bed.coordinator.work("ends", task("e2", "three four"));
    expect(await bed.answers("ends", 2)).toEqual([expect.stringMatching(readText), expect.stringMatching(readText)]);
    expect(await sessionsOf("ends")).toHaveLength(2);
  });

  it("is replaced for each work if its role says so, and the previous session is stopped", TIMES, async () => {
    await bed.coordinator.work("new", task("f1", "one two", "fresh"), { role: "fresh" });
    await bed.coordinator.work("new", task("f2", "three four", "fresh"), { role: "fresh" });
    await bed.answers("new", 2, "fresh");
    const sessions = await sessionsOf("new", "fresh");
    expect(sessions).toHaveLength(2);
    const running = await bed.running();
    expect(sessions.filter((id) => running.includes(id))).toEqual(sessions.slice(1));
  });

  it("is interrupted when its work is cancelled, and does the next work in the same session", TIMES, async () => {
    await bed.coordinator.work("stops", task("s1", "run: sleep"));
    await bed.approval("stops", 1);
    const { payload } = await bed.coordinator.control("stops", { id: "s1", type: "cancel", payload: { by: "ann" } });
    expect(payload).toEqual({ outcome: "cancelling" });
    await bed.coordinator.work("stops", task("s2", "three four"));
    expect(await bed.answers("stops", 2)).toEqual(["s1 cancelled: ann", expect.stringMatching(readText)]);
    await bed.coordinator.event("stops", "approval.withdrawn");
    expect(await sessionsOf("stops")).toHaveLength(1);
  });

  it("gets only work that it supports", TIMES, async () => {
    const image = { prompt: [{ type: "image", data: "", mimeType: "image/png" }] };
    await bed.coordinator.work("large", task("l1", "x".repeat(65_537)));
    await bed.coordinator.work("large", { id: "l2", type: "work.coding", payload: image });
    await bed.coordinator.work("large", task("l3", "hello there", "nowhere"), { role: "nowhere" });
    expect(await bed.answers("large", 2)).toEqual(["l1 failure: too_large", "l2 failure: unsupported"]);
    expect(await bed.answers("large", 1, "nowhere")).toEqual(["l3 failure: agent_lost"]);
    expect(await sessionsOf("large")).toEqual([]);
  });
});

it("an agent over stdio does its lane's work in one session", TIMES, async () => {
  await bed.coordinator.work("spoken", task("p1", "hello you", "spoken"), { role: "spoken" });
  await bed.coordinator.work("spoken", task("p2", "again you", "spoken"), { role: "spoken" });
  const answers = await bed.answers("spoken", 2, "spoken");
  expect(answers).toEqual([expect.stringMatching(readText), expect.stringMatching(readText)]);
  expect(await sessionsOf("spoken", "spoken")).toHaveLength(1);
});

it("check reports the faults of a role's bridge by line", async () => {
  const file = await bed.configure("wrong", { a: { link: "bridge" }, b: bed.role({ bridge: "other" }) });
  const { code, stdout, stderr } = await runRelay(["check", "--config", file]);
  expect(code).toBe(2);
  expect(stdout + stderr).toContain("roles.a.link: bridge needs bridge, provider, repo_path");
});
