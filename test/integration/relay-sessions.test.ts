import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator, type Stored } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { until } from "../support/sidecar/sidecar.ts";

const AGENT = fileURLToPath(new URL("../fakes/acp-agent-main.ts", import.meta.url));

let folder: string;
let nats: NatsServer;
let coordinator: Coordinator;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-sessions-"));
  await mkdir(join(folder, "sessions"));
  nats = await NatsServer.start(await oldestNats());
  coordinator = await Coordinator.connect(nats);
  const sessions = { ACP_AGENT_SESSIONS: join(folder, "sessions") };
  const role = (name: string, env: object, more: object = {}) => ({
    ...{ link: "stdio", command: [process.execPath, AGENT], repo_path: folder },
    ...{ env: { ACP_AGENT_LOG: join(folder, `${name}.log`), ...env }, ...more },
  });
  const roles = {
    loads: role("loads", sessions),
    resumes: role("resumes", { ...sessions, ACP_AGENT_RESUMES: "1" }),
    forgets: role("forgets", {}),
    again: role("again", sessions, { on_uncertain: "resend" }),
  };
  for (const [name, values] of Object.entries(roles)) {
    const turns = { create_timeout: "10m", cancel_grace: "1s", backoff: ["0s"] };
    await writeFile(join(folder, `${name}.yaml`), JSON.stringify({ turns, roles: { [name]: values } }));
  }
});
afterAll(async () => {
  await coordinator?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** A relay with only this role. */
const start = (role: string) => RelayProcess.start(nats.url, { args: ["--config", join(folder, `${role}.yaml`)] });

async function work(role: string, id: string, task: string, more: object = {}): Promise<void> {
  await coordinator.work("s", { id, type: `work.${role}`, payload: { task, ...more } }, { role });
}

async function answers(role: string, count: number): Promise<readonly string[]> {
  return (await coordinator.results("s", count, role)).map(said);
}

function said({ body }: Stored): string {
  const { text, reason } = body["payload"] as { readonly text?: string; readonly reason?: string };
  return text ?? `failed: ${reason}`;
}

const continued = { continue: true };
const asked = async (role: string) => (await readFile(join(folder, `${role}.log`), "utf8")).trim().split("\n");

describe.concurrent("work that continues a disconnected agent's session", () => {
  it.each([
    ["loads", "load"],
    ["resumes", "resume"],
  ])("reopens it if the agent %s sessions", async (role, line) => {
    await using relay = await start(role);
    await work(role, "w1", "one");
    await work(role, "w2", "two", continued);
    await work(role, "w3", "exit", continued);
    await work(role, "w4", "recall", continued);
    const first = ["prompt 1: one", "prompt 2: two", "failed: uncertain", "one, two, exit"];
    expect(await answers(role, 4)).toEqual(first);
    expect(await relay.stop()).toBe(0);
    await using second = await start(role);
    await work(role, "w5", "recall", continued);
    await work(role, "w6", "recall");
    expect(await answers(role, 6)).toEqual([...first, "one, two, exit, recall", ""]);
    expect(await asked(role)).toEqual(["one", "two", "exit", line, "recall", line, "recall", "recall"]);
    expect(await second.stop()).toBe(0);
  });

  it("begins a new session, and reports that, if the agent cannot reopen it", async () => {
    await using relay = await start("forgets");
    await work("forgets", "w1", "one");
    await work("forgets", "w2", "exit", continued);
    await work("forgets", "w3", "recall", continued);
    expect(await answers("forgets", 3)).toEqual(["prompt 1: one", "failed: uncertain", ""]);
    const truncated = await coordinator.event("s", "transcript.truncated");
    expect(truncated.body["payload"]).toEqual({ role: "forgets", reason: "session_lost" });
    expect(await relay.stop()).toBe(0);
  });
});

describe("a prompt with an unknown outcome", () => {
  it("is sent again by the next relay after a kill if the role permits it", async () => {
    await using doomed = await start("again");
    await work("again", "w1", "wait");
    await until(
      "the prompt",
      60_000,
      async () => (await asked("again").catch(() => [""])).includes("wait") || undefined,
    );
    doomed.child.kill("SIGKILL");
    await using relay = await start("again");
    await until("both prompts", 60_000, async () => ((await asked("again")).length === 2 ? true : undefined));
    expect(await asked("again")).toEqual(["wait", "wait"]);
    expect(await coordinator.stored("RELAY_RESULTS", "sessions.s.results.again")).toEqual([]);
    await coordinator.nc.request("sessions.s.control.again", '{"type":"cancel","id":"w1"}', { timeout: 30_000 });
    const [result] = await coordinator.results("s", 1, "again");
    expect(result?.body["type"]).toBe("result.cancelled");
    expect(await relay.stop()).toBe(0);
  });

  it("is sent again if the work permits it", async () => {
    await using relay = await start("loads");
    await work("loads", "i1", "exit", { idempotent: true });
    await until("five prompts", 120_000, async () => {
      return (await asked("loads")).filter((text) => text === "exit").length >= 6 || undefined;
    });
    const results = await until("the failure", 60_000, async () => {
      const found = await coordinator.stored("RELAY_RESULTS", "sessions.s.results.loads");
      return found.find(({ body }) => body["id"] === "i1");
    });
    expect(results.body["payload"]).toMatchObject({ reason: "attempts", code: -32004 });
    expect(await relay.stop()).toBe(0);
  });
});
