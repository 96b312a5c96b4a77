import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type NatsConnection, nkeyAuthenticator } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NatsServer, newestNats, oldestNats } from "../support/relay/nats-server.ts";
import { RelayProcess, runRelay } from "../support/relay/relay-process.ts";
import { SeedAgent, textResult } from "../support/relay/seed-agent.ts";
import { until } from "../support/sidecar/sidecar.ts";

const TIMES = { timeout: 300_000 };
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-users-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The output of `relay nats …`, and the file of the seed. */
async function printed(name: string, ...args: string[]): Promise<{ readonly text: string; readonly nkey: string }> {
  const nkey = join(folder, `${name}.nk`);
  const { code, stdout, stderr } = await runRelay(["nats", ...args, "--nkey", nkey]);
  expect([code, stderr]).toEqual([0, ""]);
  return { text: stdout, nkey };
}

/** A server as `relay nats` describes it, for a relay with the configuration `file` and the users of two sessions. */
async function configured(name: string) {
  const relay = await printed(`${name}-relay`, "server-config");
  const all = ["--can", "submit,read,approve"];
  const [a, b] = await Promise.all(["a", "b"].map((s) => printed(`${name}-${s}`, "user", "--session", s, ...all)));
  if (a === undefined || b === undefined) throw new Error("two users");
  const users = relay.text.replace(/^ {2}\]$/m, `${a.text}${b.text}  ]`);
  // The store and the port are the test's own.
  const config = users.replace(/^(listen|jetstream): .*$/gm, "");
  const file = join(folder, `${name}.yaml`);
  await writeFile(file, JSON.stringify({ nats: { nkey: relay.nkey, inbox_prefix: "_INBOX_relay" } }));
  return { config, file, a, b };
}

async function userOf(server: NatsServer, { nkey }: { readonly nkey: string }, session: string) {
  const seed = new TextEncoder().encode((await readFile(nkey, "utf8")).trim());
  return new User(
    await connect({ servers: server.url, authenticator: nkeyAuthenticator(seed), inboxPrefix: `_INBOX_${session}` }),
    session,
  );
}

const MS = 1_000_000;

/** A user of a session that has only its credentials. */
class User implements AsyncDisposable {
  readonly nc: NatsConnection;
  readonly session: string;
  readonly refused: string[] = [];

  constructor(nc: NatsConnection, session: string) {
    this.nc = nc;
    this.session = session;
    void this.#follow();
  }

  async #follow(): Promise<void> {
    for await (const status of this.nc.status()) if (status.type === "error") this.refused.push(status.error.message);
  }

  async api(call: string, body: object = {}): Promise<Readonly<Record<string, unknown>>> {
    const answer = await this.nc.request(`$JS.API.${call}`, JSON.stringify(body), { timeout: 30_000 });
    return answer.json<Readonly<Record<string, unknown>>>();
  }

  /** Creates its consumer. */
  reader(stream: string, filter: string, inBody = filter, kind = "reader") {
    const name = `${kind}-${this.session}`;
    const config = { name, durable_name: name, filter_subject: inBody, ack_policy: "explicit" };
    return this.api(`CONSUMER.CREATE.${stream}.${name}.${filter}`, { stream_name: stream, config });
  }

  /** The next message of its consumer. */
  async next(stream: string): Promise<Readonly<Record<string, unknown>>> {
    const request = JSON.stringify({ batch: 1, expires: 30_000 * MS });
    const message = await this.nc.request(`$JS.API.CONSUMER.MSG.NEXT.${stream}.reader-${this.session}`, request, {
      ...{ timeout: 60_000, noMux: true }, // the message keeps its own subject
    });
    message.respond("+ACK");
    return message.json<Readonly<Record<string, unknown>>>();
  }

  /** Checks that the server forbids this. */
  async isRefused(what: string, attempt: () => void): Promise<void> {
    const before = this.refused.length;
    attempt();
    await this.nc.flush().catch(() => {});
    const found = await until(`${what} to be refused`, 60_000, () => this.refused.slice(before).join() || undefined);
    expect(found, what).toContain("Permissions Violation");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.nc.close();
  }
}

const work = (id: string) => JSON.stringify({ id, type: "work.coding", payload: { task: "x" } });

it(
  "relay nats creates a seed once with mode 0600, prints a configuration, and exits with 2 on mistakes",
  TIMES,
  async () => {
    const first = await printed("once", "server-config");
    expect((await stat(first.nkey)).mode & 0o777).toBe(0o600);
    expect(await printed("once", "server-config")).toEqual(first);
    expect(first.text).not.toContain((await readFile(first.nkey, "utf8")).trim());
    await writeFile(join(folder, "bad.nk"), "SECRET-TEXT");
    const user = ["nats", "user", "--session", "s", "--can"];
    for (const [args, message] of [
      [[...user, "submit,all", "--nkey", "k"], "--can takes a list of submit, read, approve"],
      [[...user, "read"], "--nkey is missing"],
      [["nats", "user", "--session", "a.b", "--can", "read", "--nkey", "k"], "--session takes up to 64"],
      [["nats", "server-config", "--nkey", join(folder, "bad.nk")], "bad.nk holds no seed of a user's nkey"],
      [["nats", "server-config", "--nkey", join(folder, "none", "k")], "cannot write"],
    ] as const) {
      const { code, stderr } = await runRelay(args);
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
      expect(stderr).not.toContain("SECRET-TEXT");
    }
  },
);

describe.concurrent.each([
  ["oldest", () => oldestNats()],
  ["newest", newestNats],
] as const)("on the %s server, the users that relay nats prints", (name, program) => {
  it(
    "permit a relay and its commands everything they do, and a session's user its own session",
    TIMES,
    async (context) => {
      const { config, file, a } = await configured(`own-${name}`);
      await using server = await NatsServer.start(await program(context), config);
      await using relay = await RelayProcess.start(server.url, { args: ["--config", file] });
      using agent = await SeedAgent.dial(await relay.url(), { session: "a" });
      agent.answer = () => textResult("ok");
      const url = ["--nats-url", server.url, "--config", file];
      const sent = await runRelay(["send", "--session", "a", "--role", "coding", "--wait", "x", ...url]);
      expect([sent.code, sent.stdout]).toEqual([0, expect.stringContaining('"text":"ok"')]);
      await using own = await userOf(server, a, "a");
      expect(await own.reader("RELAY_RESULTS", "sessions.a.results.*")).toMatchObject({ name: "reader-a" });
      expect(await own.reader("RELAY_EVENTS", "sessions.a.events")).toMatchObject({ name: "reader-a" });
      expect((await own.next("RELAY_RESULTS"))["payload"]).toEqual({ text: "ok" });
      expect((await own.next("RELAY_EVENTS"))["type"]).toBe("agent.connected");
      const stored = await own.nc.request("sessions.a.work.coding", work("w1"), { timeout: 60_000 });
      expect(stored.json()).toMatchObject({ stream: "RELAY_WORK" });
      expect(await own.next("RELAY_RESULTS")).toMatchObject({ id: "w1", payload: { text: "ok" } });
      const control = await own.nc.request("sessions.a.control.coding", '{"type":"status"}', { timeout: 60_000 });
      expect(control.json()).toMatchObject({ type: "status", session_id: "a" });
      await own.nc.request("sessions.a.approvals", '{"type":"approval.granted"}', { timeout: 60_000 });
      await own.nc.request("sessions.a.work.coding", "no work", { timeout: 60_000 });
      const dead = await until("the dead letter", 60_000, async () => {
        const { stdout } = await runRelay(["dead", "ls", ...url]);
        return /^\s*(\d+)\s.*invalid_message/m.exec(stdout)?.[1];
      });
      for (const action of ["show", "requeue"]) {
        expect(await runRelay(["dead", action, dead, ...url])).toMatchObject({ code: 0 });
      }
      expect(await runRelay(["status", ...url])).toMatchObject({ code: 0 });
      expect(own.refused).toEqual([]);
      expect(relay.lines.filter(({ action }) => ["nats_error", "nats_refuses"].includes(String(action)))).toEqual([]);
      expect(await relay.stop()).toBe(0);
    },
  );

  it("reach nothing of another session", TIMES, async (context) => {
    const { config, file, a, b } = await configured(`other-${name}`);
    await using server = await NatsServer.start(await program(context), config);
    await using relay = await RelayProcess.start(server.url, { args: ["--config", file] });
    await using own = await userOf(server, b, "b");
    await own.reader("RELAY_RESULTS", "sessions.b.results.*");
    await using thief = await userOf(server, a, "a");
    for (const subject of [
      ...["sessions.b.work.coding", "sessions.b.approvals", "sessions.b.control.coding", "sessions.b.results.coding"],
      ...["sessions.a.results.coding", "sessions.a.events", "sessions.a.dead.coding", "sessions.b.events"],
      ...["sessions.*.work.coding", "sessions.>", "relay.ctl", "relay.lanes.a.coding", "relay.lanes.b.coding"],
      ...["STREAM.INFO.RELAY_WORK", "STREAM.MSG.GET.RELAY_RESULTS", "STREAM.DELETE.RELAY_WORK"].map(jsApi),
      ...["STREAM.PURGE.RELAY_RESULTS", "STREAM.UPDATE.RELAY_WORK", "STREAM.CREATE.X", "STREAM.NAMES"].map(jsApi),
      ...["DIRECT.GET.RELAY_RESULTS", "CONSUMER.NAMES.RELAY_WORK", "CONSUMER.LIST.RELAY_RESULTS"].map(jsApi),
      ...["CONSUMER.CREATE.RELAY_RESULTS", "CONSUMER.CREATE.RELAY_RESULTS.reader-a"].map(jsApi),
      ...["CONSUMER.CREATE.RELAY_RESULTS.reader-b.sessions.b.results.*"].map(jsApi),
      ...["CONSUMER.CREATE.RELAY_RESULTS.reader-b.sessions.a.results.*"].map(jsApi),
      ...["CONSUMER.CREATE.RELAY_RESULTS.reader-a.sessions.b.results.*"].map(jsApi),
      ...["CONSUMER.CREATE.RELAY_RESULTS.reader-a.sessions.>"].map(jsApi),
      ...["CONSUMER.CREATE.RELAY_EVENTS.reader-a.sessions.*.*"].map(jsApi),
      ...["CONSUMER.CREATE.RELAY_WORK.reader-a.sessions.b.work.coding"].map(jsApi),
      ...["CONSUMER.DURABLE.CREATE.RELAY_RESULTS.reader-a", "CONSUMER.DELETE.RELAY_RESULTS.reader-b"].map(jsApi),
      ...["CONSUMER.DELETE.RELAY_RESULTS.reader-a", "CONSUMER.INFO.RELAY_RESULTS.reader-b"].map(jsApi),
      ...["CONSUMER.MSG.NEXT.RELAY_RESULTS.reader-b", "CONSUMER.MSG.NEXT.RELAY_EVENTS.reader-b"].map(jsApi),
      ...["$JS.ACK.RELAY_RESULTS.reader-b.1.1.1.1.0", "_INBOX_b.x", "_INBOX_relay.x", "_INBOX.x"],
    ]) {
      await thief.isRefused(`publishing on ${subject}`, () => thief.nc.publish(subject, work("w")));
    }
    for (const subject of [
      ...["sessions.b.results.*", "sessions.b.events", "sessions.b.approvals", "sessions.b.progress.*", "sessions.b.>"],
      ...[
        "sessions.*.events",
        "sessions.>",
        "sessions.a.work.*",
        "relay.>",
        "_INBOX_b.>",
        "_INBOX_relay.>",
        "_INBOX.>",
      ],
      ...["*.*.*", ">", "$JS.>", "$JS.EVENT.>", "$JS.API.>"],
    ]) {
      await thief.isRefused(`listening to ${subject}`, () => void thief.nc.subscribe(subject, { callback: () => {} }));
    }
    const lie = await thief.reader("RELAY_RESULTS", "sessions.a.results.*", "sessions.b.results.*");
    expect(lie["error"]).toMatchObject({ err_code: 10131 });
    expect((await own.api("CONSUMER.INFO.RELAY_RESULTS.reader-b"))["config"]).toMatchObject({
      filter_subject: "sessions.b.results.*",
    });
    expect(own.refused).toEqual([]);
    expect(await relay.stop()).toBe(0);
  });

  it("change nothing through the reply subjects of their requests", TIMES, async (context) => {
    const { config, file, a, b } = await configured(`reply-${name}`);
    await using server = await NatsServer.start(await program(context), config);
    await using relay = await RelayProcess.start(server.url, { args: ["--config", file] });
    const instance = String((await relay.logged("serving"))["instance"]);
    await using own = await userOf(server, b, "b");
    await own.reader("RELAY_RESULTS", "sessions.b.results.*");
    await using thief = await userOf(server, a, "a");
    await thief.reader("RELAY_EVENTS", "sessions.a.approvals", "sessions.a.approvals", "approvals");
    using agent = await SeedAgent.dial(await relay.url(), { session: "b" });
    await own.nc.request("sessions.b.work.coding", work("w1"), { timeout: 60_000 });
    await agent.request(1);
    // The server answers at a request's reply subject, even if the sender may not publish there.
    const lane = { reply: "relay.lanes.b.coding" };
    thief.nc.publish("sessions.a.work.coding", work("w2"), lane);
    thief.nc.publish(jsApi("CONSUMER.INFO.RELAY_EVENTS.approvals-a"), "", lane);
    thief.nc.publish("sessions.a.control.coding", '{"type":"status"}', lane);
    thief.nc.publish("sessions.a.control.coding", '{"type":"status"}', { reply: "sessions.b.results.coding" });
    const place = { session_id: "b", role: "coding" };
    const calls = [
      { op: "release", ...place, agent_id: "agent_abc" },
      { op: "control", ...place, body: JSON.stringify({ type: "cancel", id: "w1" }) },
    ];
    const info = () => thief.api("CONSUMER.INFO.RELAY_EVENTS.approvals-a");
    for (const [index, call] of calls.entries()) {
      await thief.nc.request("sessions.a.approvals", JSON.stringify(call), { timeout: 60_000 });
      const next = jsApi("CONSUMER.MSG.NEXT.RELAY_EVENTS.approvals-a");
      thief.nc.publish(next, '{"batch":1}', { reply: `relay.ctl.${instance}` });
      await until("the delivery", 60_000, async () => {
        const { delivered } = (await info()) as { readonly delivered?: { readonly stream_seq?: number } };
        return (delivered?.stream_seq ?? 0) > index ? true : undefined;
      });
    }
    const control = await own.nc.request("sessions.b.control.coding", '{"type":"status"}', { timeout: 60_000 });
    expect(control.json()).toMatchObject({ payload: { turn: { id: "w1", asked: true }, generation: 1 } });
    agent.reply("w1", textResult("ok"));
    expect(await own.next("RELAY_RESULTS")).toMatchObject({ id: "w1", type: "result.success" });
    await own.nc.request("sessions.b.work.coding", work("w3"), { timeout: 60_000 });
    await agent.request(2);
    expect([agent.closed, relay.lines.filter(({ action }) => action === "fenced")]).toEqual([undefined, []]);
    expect([own.refused, thief.refused]).toEqual([[], []]);
  });
});

it("sessions of the same name in two accounts have separate relays and share nothing", TIMES, async () => {
  const towns = await Promise.all(
    ["one", "two"].map(async (account) => {
      const relay = await printed(`${account}-relay`, "server-config");
      const user = await printed(`${account}-a`, "user", "--session", "a", "--can", "submit,read,approve");
      const [, own = ""] = /users: \[\n(.*)^ {2}\]$/ms.exec(relay.text) ?? [];
      const file = join(folder, `${account}.yaml`);
      await writeFile(file, JSON.stringify({ nats: { nkey: relay.nkey, inbox_prefix: "_INBOX_relay" } }));
      return { user, file, config: `${account} { jetstream: enabled, users: [\n${own}${user.text}] }` };
    }),
  );
  const [one, two] = towns;
  if (one === undefined || two === undefined) throw new Error("two accounts");
  const accounts = `accounts {\n${towns.map(({ config }) => config).join("\n")}\n}`;
  await using server = await NatsServer.start(await oldestNats(), accounts);
  await using first = await RelayProcess.start(server.url, { args: ["--config", one.file] });
  await using second = await RelayProcess.start(server.url, { args: ["--config", two.file] });
  using agent = await SeedAgent.dial(await first.url(), { session: "a" });
  using other = await SeedAgent.dial(await second.url(), { session: "a" });
  await using mine = await userOf(server, one.user, "a");
  await using theirs = await userOf(server, two.user, "a");
  await mine.nc.request("sessions.a.work.coding", work("w1"), { timeout: 60_000 });
  await agent.request(1);
  for (const stranger of ["relay.lanes.a.coding", "sessions.a.results.coding"])
    mine.nc.publish("sessions.a.control.coding", '{"type":"status"}', { reply: stranger });
  agent.reply("w1", textResult("ok"));
  await mine.reader("RELAY_RESULTS", "sessions.a.results.*");
  expect(await mine.next("RELAY_RESULTS")).toMatchObject({ id: "w1", type: "result.success" });
  expect(await theirs.reader("RELAY_RESULTS", "sessions.a.results.*")).toMatchObject({ num_pending: 0 });
  const control = await theirs.nc.request("sessions.a.control.coding", '{"type":"status"}', { timeout: 60_000 });
  expect(control.json()).toMatchObject({ payload: { generation: 1 } });
  await theirs.nc.request("sessions.a.work.coding", work("w1"), { timeout: 60_000 });
  await other.request(1);
  expect([other.requests.length, agent.requests.length, agent.closed, other.closed]).toEqual([
    1,
    1,
    undefined,
    undefined,
  ]);
});

function jsApi(call: string): string {
  return `$JS.API.${call}`;
}
