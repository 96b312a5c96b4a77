import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator, type Stored } from "../support/relay/relay-bed.ts";
import { RelayProcess, runRelay } from "../support/relay/relay-process.ts";
import { until } from "../support/sidecar/sidecar.ts";

const AGENT = fileURLToPath(new URL("../fakes/acp-agent-main.ts", import.meta.url));

let folder: string;
let nats: NatsServer;
let coordinator: Coordinator;
let relay: RelayProcess;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-stdio-"));
  nats = await NatsServer.start(await oldestNats());
  coordinator = await Coordinator.connect(nats);
  relay = await start("main.yaml", {
    coding: agent({ env: { ACP_AGENT_LOG: log("coding"), SAID: "in the file" }, pass_env: ["GIVEN_*"] }),
    broken: agent({ env: { ACP_AGENT_ENDS: "7" } }),
    missing: { link: "stdio", command: ["/no/such/program"] },
    filed: agent({ repo_path: AGENT }),
    single: agent({ max_agents: 1 }),
  });
});
afterAll(async () => {
  await coordinator?.[Symbol.asyncDispose]();
  await relay?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const agent = (more: object) => ({ link: "stdio", command: [process.execPath, AGENT], repo_path: folder, ...more });
const log = (name: string) => join(folder, `${name}.log`);
const env = { GIVEN_KEY: "passed on", GT_SECRET: "the relay's own" };

/** A relay with these roles. */
async function start(name: string, roles: object): Promise<RelayProcess> {
  const file = join(folder, name);
  // JSON is valid YAML.
  await writeFile(file, JSON.stringify({ turns: { create_timeout: "10m" }, roles }));
  return RelayProcess.start(nats.url, { args: ["--config", file], env });
}

const task = (id: string, text: string, role = "coding") => ({ id, type: `work.${role}`, payload: { task: text } });

async function answers(session: string, count: number, role = "coding"): Promise<readonly string[]> {
  return (await coordinator.results(session, count, role)).map(said);
}

function said({ body }: Stored): string {
  const { text, reason } = body["payload"] as { readonly text?: string; readonly reason?: string };
  return text ?? `failed: ${reason}`;
}

async function prompts(name: string): Promise<readonly string[]> {
  return existsSync(log(name)) ? (await readFile(log(name), "utf8")).trim().split("\n") : [];
}

/** Resolves when the process has ended. */
async function ended(pid: number): Promise<void> {
  await until(`the end of ${pid}`, 60_000, async () => {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    return stat === "" || / [ZX] /.test(stat.slice(stat.lastIndexOf(")"))) || undefined;
  });
}

describe.concurrent("an ACP agent as a child of the relay", () => {
  it("is started for the first work and kept for the next", async () => {
    await coordinator.work("keep", task("k1", "hello"));
    await coordinator.work("keep", task("k2", "again"));
    const [first, second] = await coordinator.results("keep", 2);
    expect(first?.body).toEqual({
      ...{ id: "k1", session_id: "keep", type: "result.success" },
      payload: { text: "prompt 1: hello", stop_reason: "end_turn" },
    });
    expect(first?.header("Relay-Dialect")).toBe("acp");
    expect(second?.body["payload"]).toMatchObject({ text: "prompt 2: again" });
    await coordinator.event("keep", "agent.connected");
  });

  it("gets only the variables that every program needs and those that its role names", async () => {
    for (const [index, name] of ["SAID", "GIVEN_KEY", "GT_SECRET", "OUROCODUS_NATS_URL", "HOME"].entries()) {
      await coordinator.work("env", task(`e${index}`, `env ${name}`));
    }
    expect(await answers("env", 5)).toEqual([
      ...["in the file", "passed on", "not set", "not set"],
      process.env["HOME"] ?? "not set",
    ]);
  });

  it("that dies in mid-turn leaves the work uncertain, and the next work starts another", async () => {
    await coordinator.work("dies", task("d1", "exit 1"));
    await coordinator.work("dies", task("d2", "after"));
    expect(await answers("dies", 2)).toEqual(["failed: uncertain", "prompt 1: after"]);
    expect((await prompts("coding")).filter((text) => text === "exit 1")).toHaveLength(1);
    const gone = await coordinator.event("dies", "agent.disconnected");
    expect(gone.body["payload"]).toMatchObject({ reason: "the agent ended with 3" });
  });

  it("that ends soon after each start is reported as a crash loop in the log and in the work's failure", async () => {
    await coordinator.work("loop", task("l1", "hello", "broken"), { role: "broken" });
    // Four waits that double from a second on, and five starts of a program on a busy machine.
    const [result] = await until("the failure", 300_000, async () => {
      const found = await coordinator.stored("RELAY_RESULTS", "sessions.loop.results.broken");
      return found.length > 0 ? found : undefined;
    });
    expect(result?.body["payload"]).toMatchObject({
      ...{ reason: "agent_lost", error: "crash loop: the agent ended with 7, 5 times in a row" },
    });
    expect(await relay.logged("crash_loop")).toMatchObject({ level: "error", session_id: "loop", ends: 5 });
  });

  it("that cannot be started fails the work", async () => {
    await coordinator.work("none", task("n1", "hello", "missing"), { role: "missing" });
    const [result] = await coordinator.results("none", 1, "missing");
    expect(result?.body["payload"]).toMatchObject({
      ...{ reason: "agent_lost", error: "cannot start /no/such/program: ENOENT" },
    });
  });

  it("whose working folder is a file fails the work", async () => {
    await coordinator.work("file", task("f1", "hello", "filed"), { role: "filed" });
    const [result] = await coordinator.results("file", 1, "filed");
    expect(result?.body["payload"]).toMatchObject({
      ...{ reason: "agent_lost", error: `cannot start ${process.execPath}: ENOTDIR` },
    });
  });

  it("is stopped for another session's agent at the role's limit", async () => {
    for (const session of ["one", "two", "three"]) {
      await coordinator.work(session, task("s1", "hello", "single"), { role: "single" });
    }
    for (const session of ["one", "two", "three"]) {
      expect(await answers(session, 1, "single")).toEqual(["prompt 1: hello"]);
    }
  });
});

describe("a relay's children", () => {
  it("end when it is killed; the work is uncertain at the next relay, and no agent is prompted again", async () => {
    const role = agent({ env: { ACP_AGENT_LOG: log("killed") } });
    await using doomed = await start("killed.yaml", { killed: role });
    await coordinator.work("left", task("w1", "pid", "killed"), { role: "killed" });
    await coordinator.work("left", task("w2", "leave", "killed"), { role: "killed" });
    const pids = (await answers("left", 2, "killed")).map(Number);
    await coordinator.work("left", task("w3", "wait", "killed"), { role: "killed" });
    await until("the prompt", 60_000, async () => (await prompts("killed")).includes("wait") || undefined);
    doomed.child.kill("SIGKILL");
    for (const pid of pids) await ended(pid);
    await using survivor = await start("survivor.yaml", { killed: role });
    await coordinator.work("left", task("w4", "hello", "killed"), { role: "killed" });
    expect((await answers("left", 4, "killed")).slice(2)).toEqual(["failed: uncertain", "prompt 1: hello"]);
    expect(await prompts("killed")).toEqual(["pid", "leave", "wait", "hello"]);
    expect(await survivor.stop()).toBe(0);
  });

  it("end when it is stopped", async () => {
    await using asked = await start("asked.yaml", { asked: agent({}) });
    await coordinator.work("asked", task("a1", "pid", "asked"), { role: "asked" });
    await coordinator.work("asked", task("a2", "leave", "asked"), { role: "asked" });
    const pids = (await answers("asked", 2, "asked")).map(Number);
    expect(await asked.stop()).toBe(0);
    for (const pid of pids) await ended(pid);
    await coordinator.event("asked", "agent.disconnected");
  });
});

it("two relays with the same role do each work once", async () => {
  const role = agent({ env: { ACP_AGENT_LOG: log("both") } });
  await using one = await start("one.yaml", { both: role });
  await using two = await start("two.yaml", { both: role });
  const ids = Array.from({ length: 20 }, (_, index) => `b${index}`);
  for (const id of ids) await coordinator.work(`both-${id.length}`, task(id, id, "both"), { role: "both" });
  await coordinator.results("both-2", 10, "both");
  await coordinator.results("both-3", 10, "both");
  await coordinator.allSettled();
  expect([...(await prompts("both"))].sort()).toEqual([...ids].sort());
  expect([await one.stop(), await two.stop()]).toEqual([0, 0]);
});

it("check reports the faults of a role's child by line", async () => {
  const file = join(folder, "wrong.yaml");
  const variables = '{ "A=B": x, C: "y\\0z" }';
  await writeFile(
    file,
    "roles:\n  a: { link: stdio }\n  b: { link: stdin }\n  c: { link: stdio, command: run me }\n" +
      `  d: { link: stdio, command: [run], env: ${variables} }\n`,
  );
  const { code, stdout, stderr } = await runRelay(["check", "--config", file]);
  expect(code).toBe(2);
  expect(stdout + stderr).toContain(`${file}:2: roles.a.link: stdio needs a command`);
  expect(stdout + stderr).toContain(`${file}:3: roles.b.link: must be one of accept, stdio, bridge`);
  expect(stdout + stderr).toContain(
    `${file}:4: roles.c.command: must be a list of words: the program and its arguments`,
  );
  expect(stdout + stderr).toContain(`${file}:5: roles.d.env.A=B: must be a name without =`);
  expect(stdout + stderr).toContain(`${file}:5: roles.d.env.C: must be text without NUL`);
});
