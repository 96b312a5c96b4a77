import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeAccount, encodeOperator, encodeUser, fmtCreds } from "@nats-io/jwt";
import { createAccount, createOperator, createUser } from "@nats-io/nkeys";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TestCa } from "../support/bridge/certificates.ts";
import { NatsServer, newestNats, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess, runRelay } from "../support/relay/relay-process.ts";
import { SeedAgent, textResult } from "../support/relay/seed-agent.ts";
import { until } from "../support/sidecar/sidecar.ts";

const TIMES = { timeout: 300_000 };
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-permits-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function write(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content, { mode: 0o600 });
  return path;
}

/** A relay's user with an nkey, and the flag that names its seed. */
async function nkeyUser(name: string) {
  const pair = createUser();
  const file = await write(`${name}.nk`, pair.getSeed());
  return { key: pair.getPublicKey(), flags: ["--nats-nkey", file] };
}

interface Denied {
  readonly publish?: string;
  readonly subscribe?: string;
}

/**
 * Two users: the relay, which has an nkey and all permissions but the denied ones, and anyone who connects without
 * credentials.
 */
function serverConfig(key: string, { publish = "none", subscribe = "none" }: Denied = {}): string {
  const permissions = `{ publish: { deny: "${publish}" }, subscribe: { deny: "${subscribe}" } }`;
  return `authorization { users: [{ nkey: ${key}, permissions: ${permissions} }, { user: people, password: "" }] }
no_auth_user: people\n`;
}

function start(server: NatsServer, args: readonly string[]): Promise<RelayProcess> {
  return RelayProcess.start(server.url, { args: ["--pong-timeout", "300", ...args] });
}

async function fails(server: NatsServer, flags: readonly string[]) {
  const listen = ["--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"];
  return runRelay(["serve", "--nats-url", server.url, ...listen, ...flags]);
}

/** Checks that one work is completed. */
async function works(server: NatsServer, relay: RelayProcess, session: string): Promise<void> {
  await using people = await Coordinator.connect(server);
  using agent = SeedAgent.begin(await relay.url(), { session });
  agent.answer = () => textResult("ok");
  await people.work(session, { id: "w1", type: "work.coding", payload: { task: "x" } });
  expect((await people.results(session, 1))[0]?.body["payload"]).toEqual({ text: "ok" });
}

async function readiness(relay: RelayProcess, status: number): Promise<void> {
  await until(`/readyz to answer ${status}`, 120_000, async () =>
    (await relay.health("/readyz")).status === status ? true : undefined,
  );
}

describe.concurrent("subscribe failed: a relay without the permissions in NATS that it needs", () => {
  it.each<[string, Denied]>([
    ["relay.ctl", { subscribe: "relay.ctl" }],
    ["sessions.*.control.*", { subscribe: "sessions.*.control.>" }],
    ["sessions.*.approvals", { subscribe: "sessions.*.approvals" }],
    ["$JS.API.STREAM.INFO.RELAY_WORK", { publish: "$JS.API.STREAM.INFO.>" }],
  ])("exits with 4 and names it: %s", TIMES, async (subject, denied) => {
    const { key, flags } = await nkeyUser(`no-${subject.replace(/\W/g, "-")}`);
    await using server = await NatsServer.start(await oldestNats(), serverConfig(key, denied));
    const { code, stderr } = await fails(server, flags);
    expect([code, stderr]).toEqual([4, expect.stringContaining(subject)]);
  });

  it(
    "exits with 4 and names a subject on which it may not publish, and its attempts are in no stream",
    TIMES,
    async () => {
      const { key, flags } = await nkeyUser("no-publish");
      await using server = await NatsServer.start(await oldestNats(), serverConfig(key));
      await using relay = await start(server, flags);
      await using people = await Coordinator.connect(server);
      for (const stream of ["RESULTS", "EVENTS", "DEAD", "LANES"]) {
        expect(await people.stored(`RELAY_${stream}`, ">")).toEqual([]);
      }
      expect(await relay.stop()).toBe(0);
      for (const [denied, named] of [
        ["sessions.*.results.*", "sessions.*.results.*"],
        ["sessions.*.approvals", "sessions.*.approvals"],
        ["sessions.*.progress.*", "sessions.*.progress.*"],
        ["relay.lanes.>", "relay.lanes.*.*"],
        ["$JS.API.CONSUMER.MSG.NEXT.>", "$JS.API.CONSUMER.MSG.NEXT.RELAY_WORK.*"],
      ] as const) {
        await server.configure(serverConfig(key, { publish: denied }));
        const { code, stderr } = await fails(server, flags);
        expect([code, stderr]).toEqual([4, expect.stringContaining(`NATS does not permit to publish ${named}`)]);
      }
    },
  );

  it("exits with 4 with a foreign nkey, or without a required one", TIMES, async () => {
    const { key } = await nkeyUser("known");
    const { flags } = await nkeyUser("unknown");
    const config = `authorization { users: [{ nkey: ${key} }] }\n`;
    await using server = await NatsServer.start(await oldestNats(), config);
    for (const each of [flags, []]) {
      const { code, stderr } = await fails(server, each);
      expect([code, stderr]).toEqual([4, expect.stringContaining("refuses the credentials")]);
    }
  });

  it("exits with 2 for files that contain no credentials, and names them but not their text", TIMES, async () => {
    const file = await write("wrong", "SECRET-TEXT");
    for (const [flag, name] of [
      ["--nats-nkey", file],
      ["--nats-creds", file],
      ["--nats-creds", join(folder, "none")],
      ["--nats-tls-dir", folder],
    ] as const) {
      const { code, stderr } = await runRelay(["check", flag, name]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(name)]);
      expect(stderr).not.toContain("SECRET-TEXT");
    }
  });
});

describe.concurrent.each([
  ["oldest", () => oldestNats()],
  ["newest", newestNats],
] as const)("a relay that the %s server knows", (name, program) => {
  it("by an nkey in the configuration file serves, and its commands work", TIMES, async (context) => {
    const { key, flags } = await nkeyUser(`nkey-${name}`);
    const config = `authorization { users: [{ nkey: ${key} }] }\n`;
    await using server = await NatsServer.start(await program(context), config);
    const file = await write(`nkey-${name}.yaml`, JSON.stringify({ nats: { nkey: `nkey-${name}.nk` } }));
    await using relay = await start(server, ["--config", file]);
    const sent = await runRelay(["send", "--session", "s", "--role", "r", "x", "--nats-url", server.url, ...flags]);
    expect(sent.code).toBe(0);
    expect(await relay.stop()).toBe(0);
  });

  it("by a creds file with its own inboxes carries work", TIMES, async (context) => {
    const [operator, account, system, user] = [createOperator(), createAccount(), createAccount(), createUser()];
    const limits = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1, conn: -1, leaf: -1 };
    const own = { imports: -1, exports: -1, wildcards: true, subs: -1, data: -1, payload: -1 };
    const ofAccount = await encodeAccount("town", account, { limits: { ...limits, ...own } }, { signer: operator });
    const ofUser = await encodeUser("relay", user, account, {
      ...{ pub: { allow: [">"], deny: [] }, sub: { allow: [">"], deny: ["_INBOX.>"] } },
    });
    const ofSystem = await encodeAccount("system", system, { limits: own }, { signer: operator });
    const config = `operator: ${await encodeOperator("operator", operator)}
system_account: ${system.getPublicKey()}
resolver: MEMORY
resolver_preload: { ${account.getPublicKey()}: ${ofAccount}, ${system.getPublicKey()}: ${ofSystem} }\n`;
    await using server = await NatsServer.start(await program(context), config);
    const creds = await write(`${name}.creds`, fmtCreds(ofUser, user));
    const file = await write(`creds-${name}.yaml`, JSON.stringify({ nats: { inbox_prefix: "_INBOX_relay" } }));
    await using relay = await start(server, ["--nats-creds", creds, "--config", file]);
    const send = ["send", "--session", "s", "--role", "coding", "--wait", "x", "--nats-url", server.url];
    using agent = SeedAgent.begin(await relay.url(), { session: "s" });
    agent.answer = () => textResult("ok");
    const sent = await runRelay([...send, "--nats-creds", creds, "--config", file]);
    expect([sent.code, sent.stdout]).toEqual([0, expect.stringContaining('"text":"ok"')]);
  });

  it("by a certificate connects over TLS 1.3, and not without it", TIMES, async (context) => {
    const ca = new TestCa(`nats-${name}`);
    const server = ca.issue({ ips: ["127.0.0.1"] });
    const client = ca.issue({ uris: ["spiffe://test/relay"] });
    const dir = await mkdtemp(join(folder, "tls-"));
    for (const [file, text] of [
      ["tls.crt", client.cert],
      ["tls.key", client.key],
      ["ca.crt", client.ca],
      ["server.crt", server.cert],
      ["server.key", server.key],
    ] as const) {
      await writeFile(join(dir, file), text, { mode: 0o600 });
    }
    const path = (file: string) => JSON.stringify(join(dir, file));
    const config = `tls { cert_file: ${path("server.crt")}, key_file: ${path("server.key")}
      ca_file: ${path("ca.crt")}, verify: true }\n`;
    await using nats = await NatsServer.start(await program(context), config);
    await using relay = await start(nats, ["--nats-tls-dir", dir]);
    expect((await relay.health("/readyz")).status).toBe(200);
    const without = await runRelay(["results", "--session", "s", "--nats-url", nats.url]);
    expect(without.code).toBe(4);
  });

  it(
    "publish failed: messages that NATS rejects for a while are retried, and the relay is not ready",
    TIMES,
    async (context) => {
      const { key, flags } = await nkeyUser(`publish-${name}`);
      await using server = await NatsServer.start(await program(context), serverConfig(key));
      await using relay = await start(server, flags);
      await using people = await Coordinator.connect(server);
      using agent = await SeedAgent.dial(await relay.url(), { session: "s" });
      await people.work("s", { id: "w1", type: "work.coding", payload: { task: "x" } });
      await agent.request(1);
      await server.configure(serverConfig(key, { publish: "sessions.*.results.*" }));
      agent.reply("w1", textResult("ok"));
      await relay.logged("publish_failed");
      await readiness(relay, 503);
      expect(await (await relay.health("/readyz")).text()).toContain("NATS refuses an operation of the relay");
      await server.configure(serverConfig(key));
      expect((await people.results("s", 1))[0]?.body["payload"]).toEqual({ text: "ok" });
      await readiness(relay, 200);
    },
  );

  it(
    "subscribe failed later: the relay is not ready until NATS permits it again, and then serves",
    TIMES,
    async (context) => {
      const { key, flags } = await nkeyUser(`subscribe-${name}`);
      await using server = await NatsServer.start(await program(context), serverConfig(key));
      await using relay = await start(server, flags);
      await server.configure(serverConfig(key, { subscribe: "sessions.*.control.>" }));
      expect(await relay.logged("nats_refuses")).toMatchObject({ level: "error", subject: "sessions.*.control.*" });
      await readiness(relay, 503);
      await works(server, relay, "meanwhile");
      await server.configure(serverConfig(key));
      await readiness(relay, 200);
      await using people = await Coordinator.connect(server);
      expect((await people.control("meanwhile", { type: "status" }))["type"]).toBe("status");
    },
  );
});
