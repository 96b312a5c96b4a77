import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ModelServer } from "../fakes/model-server.ts";
import { component } from "../support/cluster/components.ts";
import { programFile } from "../support/programs.ts";
import { schemaFaults } from "../support/relay/acp-schema.ts";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { type AcpAgent, type RealAcpAgent, realAgent } from "../support/relay/real-acp-agents.ts";
import { Coordinator, type Stored } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { until } from "../support/sidecar/sidecar.ts";

const TAP = fileURLToPath(new URL("../support/relay/frame-tap-main.ts", import.meta.url));
const PATIENCE_MS = 300_000;

let folder: string;
let model: ModelServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-real-"));
  model = await ModelServer.listen({ wordDelayMs: 5 });
});
afterAll(async () => {
  await model?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** How often the model was asked for this text as a prompt, not as an answer to a tool. */
const prompts = (text: string) =>
  model.requests.filter(
    ({ withTools, afterTool, lastUserText }) => withTools && !afterTool && lastUserText.includes(text),
  ).length;

interface Bed extends AsyncDisposable {
  readonly nats: NatsServer;
  readonly coordinator: Coordinator;
  readonly agent: RealAcpAgent;
  readonly frames: () => Promise<readonly string[]>;
  readonly relay: (args?: readonly string[]) => Promise<RelayProcess>;
}

async function bed(program: string, name: AcpAgent, place: string, link: "stdio" | "accept"): Promise<Bed> {
  const dir = join(folder, place);
  await mkdir(dir);
  const plain = await realAgent(name, dir, model.url);
  const log = join(dir, "frames.log");
  const agent = { ...plain, command: [process.execPath, TAP, log, ...plain.command] as const };
  const nats = await NatsServer.start(program);
  const coordinator = await Coordinator.connect(nats);
  const role = { link, command: agent.command, repo_path: agent.workdir, env: agent.env };
  const turns = { create_timeout: "10m", permission_timeout: "30m", cancel_grace: "10m" };
  await writeFile(join(dir, "relay.yaml"), JSON.stringify({ turns, roles: { coding: role } }));
  return {
    ...{ nats, coordinator, agent },
    frames: async () => (await readFile(log, "utf8")).trim().split("\n"),
    relay: (args = []) => RelayProcess.start(nats.url, { args: ["--config", join(dir, "relay.yaml"), ...args] }),
    [Symbol.asyncDispose]: async () => {
      await coordinator[Symbol.asyncDispose]();
      await nats[Symbol.asyncDispose]();
    },
  };
}

const task = (id: string, text: string, more: object = {}) => ({
  ...{ id, type: "work.coding", payload: { task: text, ...more } },
});

function results({ coordinator }: Bed, count: number): Promise<readonly Stored[]> {
  return until(`${count} results`, PATIENCE_MS, async () => {
    const found = await coordinator.stored("RELAY_RESULTS", "sessions.real.results.coding");
    return found.length >= count ? found : undefined;
  });
}

const said = ({ body }: Stored) => {
  const { text, reason } = body["payload"] as { readonly text?: string; readonly reason?: string };
  return `${String(body["type"])} ${text ?? reason}`;
};

/** Has the agent ask for a command, grants it, and continues the session. */
async function wholeTask(at: Bed, marks: readonly [string, string]): Promise<void> {
  const { coordinator } = at;
  await coordinator.work("real", task("w1", `RUN-TOOL echo ${marks[0]} > made.txt`));
  const asked = await until("the request for leave", PATIENCE_MS, async () => {
    return (await coordinator.stored("RELAY_EVENTS", "sessions.real.approvals"))[0];
  });
  const payload = asked.body["payload"] as Readonly<Record<string, unknown>>;
  expect(payload).toMatchObject({ work_id: "w1", role: "coding" });
  const answer = { id: "x", type: "approval.granted", payload: { approval_id: payload["approval_id"] } };
  await coordinator.js.publish("sessions.real.approvals", JSON.stringify(answer));
  await results(at, 1);
  await coordinator.work("real", task("w2", `SAY ${marks[1]}`, { continue: true }));
  // Codex prints a warning about its model before its first words.
  expect((await results(at, 2)).map(said)).toEqual([
    expect.stringMatching(/^result\.success [\s\S]*Done with the tool\.$/),
    expect.stringMatching(new RegExp(`^result\\.success [\\s\\S]*${marks[1]}$`)),
  ]);
  expect((await readFile(join(at.agent.workdir, "made.txt"), "utf8")).trim()).toBe(marks[0]);
  expect([prompts(marks[0]), prompts(marks[1])]).toEqual([1, 1]);
}

/** Kills the relay while the model is working on a prompt. */
async function killedInTurn({ coordinator }: Bed, relay: RelayProcess, mark: string): Promise<void> {
  await coordinator.work("real", task("w3", `${mark} TALK 100000`, { continue: true }));
  await until("the model to be asked", PATIENCE_MS, () => (prompts(mark) > 0 ? true : undefined));
  relay.child.kill("SIGKILL");
  await relay.exited();
}

async function goesOn(at: Bed, marks: readonly [string, string]): Promise<void> {
  await at.coordinator.work("real", task("w4", `SAY ${marks[1]}`, { continue: true }));
  expect((await results(at, 4)).slice(2).map(said)).toEqual([
    "result.failure uncertain",
    expect.stringMatching(new RegExp(`^result\\.success [\\s\\S]*${marks[1]}$`)),
  ]);
  expect([prompts(marks[0]), prompts(marks[1])]).toEqual([1, 1]);
}

/** Cancels a prompt that the model is working on, and continues the session. */
async function checkCancellation(at: Bed, marks: readonly [string, string]): Promise<void> {
  const { coordinator } = at;
  await coordinator.work("real", task("w5", `${marks[0]} TALK 100000`, { continue: true }));
  await until("the model to be asked", PATIENCE_MS, () => (prompts(marks[0]) > 0 ? true : undefined));
  const { payload } = await coordinator.control("real", { id: "w5", type: "cancel", payload: { by: "test" } });
  expect(payload).toEqual({ outcome: "cancelling" });
  await coordinator.work("real", task("w6", `SAY ${marks[1]}`, { continue: true }));
  const last = (await results(at, 6)).slice(4);
  expect(last[0]?.body).toMatchObject({ id: "w5", type: "result.cancelled" });
  expect(last.slice(1).map(said)).toEqual([
    expect.stringMatching(new RegExp(`^result\\.success [\\s\\S]*${marks[1]}$`)),
  ]);
  expect([prompts(marks[0]), prompts(marks[1])]).toEqual([1, 1]);
  await coordinator.allSettled();
}

/** The next relay continues the session, which its agent has opened again. */
async function goesOnAfterKill(at: Bed, place: string, marks: readonly [string, string]): Promise<void> {
  await goesOn(at, marks);
  await checkCancellation(at, [`${place}-five`, `${place}-six`]);
  expect((await at.frames()).some((frame) => /^client .*"session\/(?:load|resume)"/.test(frame))).toBe(true);
  await obeysSchema(at);
}

/** Checks that all frames of its streams obey the protocol's schema. */
async function obeysSchema(at: Bed): Promise<void> {
  const frames = await at.frames();
  const { checked, faults } = schemaFaults(frames);
  expect(faults).toEqual([]);
  expect(checked).toBeGreaterThan(10);
}

const TIMES = { timeout: PATIENCE_MS * 5 };

describe.concurrent("a published agent does its work once, even when the relay is killed,", () => {
  it.each([
    ["codex-acp", "oldest", oldestNats],
    ["claude-agent-acp", "newest", newest],
  ] as const)("%s as a child, on the %s server", TIMES, async (name, age, program) => {
    const found = await program();
    if (typeof found !== "string") return skipOrFail(found.missing);
    const place = `${name}-child-${age}`;
    await using at = await bed(found, name, place, "stdio");
    await using first = await at.relay();
    await wholeTask(at, [`${place}-one`, `${place}-two`]);
    const marks = [`${place}-three`, `${place}-four`] as const;
    await killedInTurn(at, first, marks[0]);
    await using second = await at.relay();
    await goesOnAfterKill(at, place, marks);
    expect(await second.stop()).toBe(0);
  });

  it.each([
    ["codex-acp", "newest", newest],
    ["claude-agent-acp", "oldest", oldestNats],
  ] as const)("%s behind relay dial, on the %s server", TIMES, async (name, age, program) => {
    const found = await program();
    if (typeof found !== "string") return skipOrFail(found.missing);
    const place = `${name}-dial-${age}`;
    await using at = await bed(found, name, place, "accept");
    await using first = await at.relay();
    const url = await first.url();
    const dialled = dial(url, at.agent);
    try {
      await wholeTask(at, [`${place}-one`, `${place}-two`]);
      const marks = [`${place}-three`, `${place}-four`] as const;
      await killedInTurn(at, first, marks[0]);
      await using second = await at.relay(["--listen", url.slice("ws://".length)]);
      await goesOnAfterKill(at, place, marks);
      dialled.kill("SIGTERM");
      await once(dialled, "exit");
      expect(await second.stop()).toBe(0);
    } finally {
      dialled.kill("SIGKILL");
    }
  });
});

function dial(server: string, { command, env, workdir }: RealAcpAgent) {
  const place = ["--server", server, "--session", "real", "--role", "coding", "--agent-id", "agent_real"];
  const args = [programFile("relay"), "dial", ...place, "--", ...command];
  return spawn(process.execPath, args, { stdio: "ignore", env: { ...env }, cwd: workdir });
}

async function newest(): Promise<string | { readonly missing: string }> {
  const found = await component("nats-server");
  return "path" in found ? found.path : found;
}

function skipOrFail(missing: string): void {
  if (process.env["CI"] === "true") throw new Error(missing);
}
