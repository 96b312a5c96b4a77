import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createUser } from "@nats-io/nkeys";
import { headers, type MsgHdrs } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, it } from "vitest";
import { MessageSigner, Signers } from "../../internal/relay/nats/signing.ts";
import { programFile } from "../support/programs.ts";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess, runRelay } from "../support/relay/relay-process.ts";
import { SeedAgent, textResult } from "../support/relay/seed-agent.ts";
import { until } from "../support/sidecar/sidecar.ts";

const newKey = () => {
  const user = createUser();
  return { seed: new TextDecoder().decode(user.getSeed()), key: user.getPublicKey() };
};
const [boss, own, stranger] = [newKey(), newKey(), newKey()];
const signer = new MessageSigner("boss", boss.seed);
const AGENT = fileURLToPath(new URL("../fakes/acp-agent-main.ts", import.meta.url));

let folder: string;
let nats: NatsServer;
let relay: RelayProcess;
let coordinator: Coordinator;
let dialled: ChildProcess | undefined;

beforeAll(async () => {
  nats = await NatsServer.start(await oldestNats());
  folder = await mkdtemp(join(tmpdir(), "gt-relay-signing-"));
  await writeFile(join(folder, "relay.nk"), `${own.seed}\n`, { mode: 0o600 });
  await writeFile(join(folder, "boss.nk"), `${boss.seed}\n`, { mode: 0o600 });
  const signing = { seed_file: "relay.nk", signers: { boss: boss.key } };
  const turns = { permission_timeout: "30m", create_timeout: "10m" };
  await writeFile(join(folder, "relay.yaml"), JSON.stringify({ signing, turns }));
  await writeFile(join(folder, "boss.yaml"), JSON.stringify({ signing: { name: "boss", seed_file: "boss.nk" } }));
  relay = await RelayProcess.start(nats.url, { args: ["--config", join(folder, "relay.yaml")] });
  coordinator = await Coordinator.connect(nats);
});
afterAll(async () => {
  dialled?.kill("SIGTERM");
  await coordinator?.[Symbol.asyncDispose]();
  await relay?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const task = (id: string) => JSON.stringify({ id, type: "work.coding", payload: { task: id } });
const subjectOf = (session: string) => `sessions.${session}.work.coding`;

function signed(subject: string, body: string, { by = signer, msgId = "" } = {}): MsgHdrs {
  const block = headers();
  for (const [name, value] of Object.entries(by.headersFor({ subject, body, msgId }))) block.set(name, value);
  if (msgId !== "") block.set("Nats-Msg-Id", msgId);
  return block;
}

function publish(subject: string, body: string, block: MsgHdrs | undefined) {
  return coordinator.js.publish(subject, body, { ...(block && { headers: block }), timeout: 60_000 });
}

/** For each message of a subject in a stream, whether the relay has signed it. */
async function bySigner(stream: string, subject: string): Promise<readonly boolean[]> {
  const ours = new Signers({ relay_main: own.key });
  return (await coordinator.stored(stream, subject)).map(({ text, header, subject: at }) => {
    const block = headers();
    for (const name of ["Relay-Signer", "Relay-Signature", "Nats-Msg-Id"]) block.set(name, header(name));
    return ours.hasSigned({ subject: at, data: new TextEncoder().encode(text), headers: block });
  });
}

it("work without a valid signature becomes a dead letter without a result, and the lane continues", async () => {
  using agent = await SeedAgent.dial(await relay.url(), { session: "work" });
  agent.answer = () => textResult("ok");
  const subject = subjectOf("work");
  const again = signed(subject, task("w1"), { msgId: "m" });
  again.set("Nats-Msg-Id", "n");
  const forged: (MsgHdrs | undefined)[] = [
    undefined,
    signed(subject, task("w1"), { by: new MessageSigner("boss", stranger.seed) }),
    signed(subject, task("w1"), { by: new MessageSigner("stranger", boss.seed) }),
    signed(subjectOf("other"), task("w1")),
    signed(subject, task("w2")),
    again,
  ];
  for (const block of forged) await publish(subject, task("w1"), block);
  await publish(subject, task("w1"), signed(subject, task("w1"), { msgId: "work/coding/w1" }));
  const [result] = await coordinator.results("work", 1);
  expect(result?.body).toMatchObject({ id: "w1", type: "result.success" });
  await coordinator.allSettled();
  const dead = await coordinator.stored("RELAY_DEAD", "sessions.work.dead.coding");
  expect(dead.map(({ header, text }) => [header("Relay-Reason"), text])).toEqual(
    forged.map(() => ["unsigned", task("w1")]),
  );
  expect([agent.requests.length, await coordinator.results("work", 1)]).toMatchObject([1, { length: 1 }]);
  expect((await coordinator.event("work", "work.rejected")).body["payload"]).toMatchObject({ reason: "unsigned" });
  expect(await bySigner("RELAY_RESULTS", "sessions.work.results.coding")).toEqual([true]);
  const events = await bySigner("RELAY_EVENTS", "sessions.work.events");
  expect(events).toEqual(events.map(() => true));
});

it("relay send signs with the seed of its configuration", async () => {
  using agent = await SeedAgent.dial(await relay.url(), { session: "sent" });
  agent.answer = () => textResult("ok");
  const send = ["send", "--session", "sent", "--role", "coding", "--wait", "x", "--nats-url", nats.url];
  const sent = await runRelay([...send, "--config", join(folder, "boss.yaml")]);
  expect([sent.code, sent.stdout]).toEqual([0, expect.stringContaining('"text":"ok"')]);
});

it("control without a signature is refused, and the answer to signed control is signed", async () => {
  using _agent = await SeedAgent.dial(await relay.url(), { session: "control" });
  const [subject, body] = ["sessions.control.control.coding", '{"type":"status"}'];
  expect(await coordinator.control("control", body)).toMatchObject({
    ...{ type: "control.error", payload: { reason: "unsigned" } },
  });
  const answer = await coordinator.nc.request(subject, body, { headers: signed(subject, body), timeout: 60_000 });
  expect(answer.json()).toMatchObject({ type: "status", payload: { state: "held" } });
  const ours = new Signers({ relay_main: own.key });
  expect(ours.hasSigned(answer)).toBe(true);
});

it("an unsigned decision becomes a dead letter, and the next signed one counts", async () => {
  const place = ["--server", await relay.url(), "--session", "asked", "--role", "coding", "--agent-id", "agent_acp"];
  const args = [programFile("relay"), "dial", ...place, "--", process.execPath, AGENT];
  dialled = spawn(process.execPath, args, { stdio: "ignore" });
  await coordinator.event("asked", "agent.connected");
  const body = JSON.stringify({ id: "w1", type: "work.coding", payload: { task: "ask" } });
  await publish(subjectOf("asked"), body, signed(subjectOf("asked"), body));
  const subject = "sessions.asked.approvals";
  const asked = await until("the question", 60_000, async () => (await coordinator.stored("RELAY_EVENTS", subject))[0]);
  const { approval_id } = asked.body["payload"] as { readonly approval_id: string };
  const decision = (type: string) => JSON.stringify({ id: type, type, payload: { approval_id } });
  await publish(subject, decision("approval.granted"), undefined);
  await publish(subject, decision("approval.rejected"), signed(subject, decision("approval.rejected")));
  const [result] = await coordinator.results("asked", 1);
  expect(result?.body["payload"]).toMatchObject({ text: "decided no" });
  const dead = await coordinator.stored("RELAY_DEAD", "sessions.asked.dead.coding");
  expect(dead.map(({ header, text }) => [header("Relay-Reason"), text])).toEqual([
    ["unsigned", decision("approval.granted")],
  ]);
  const requeued = await runRelay(["dead", "requeue", String(dead[0]?.seq), "--nats-url", nats.url]);
  expect([requeued.code, requeued.stderr]).toEqual([2, expect.stringContaining(`published on ${subject}`)]);
  expect((await bySigner("RELAY_EVENTS", subject))[0]).toBe(true);
});

it("unusable keys are reported as faults without a seed", async () => {
  for (const [signing, message] of [
    [{ seed_file: "none.nk" }, "none.nk"],
    [{ seed_file: "relay.yaml" }, "relay.yaml: it holds no seed of an nkey"],
    [{ signers: { boss: boss.seed } }, `the key of "boss" is not a user's public nkey`],
    [{ signers: {} }, "must name a signer, or be omitted"],
    [{ signers: { "a b": boss.key } }, "a name of letters, digits, _ and -"],
  ] as const) {
    const file = join(folder, "bad.yaml");
    await writeFile(file, JSON.stringify({ signing }));
    const { code, stderr } = await runRelay(["check", "--config", file]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(stderr).not.toContain(boss.seed);
  }
});
