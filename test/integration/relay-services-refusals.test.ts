import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createUser } from "@nats-io/nkeys";
import { headers, type Msg } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NatsServer, newestNats, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess, runRelay } from "../support/relay/relay-process.ts";
import { SeedAgent, textResult } from "../support/relay/seed-agent.ts";
import { VendorClient } from "../support/relay/vendor-client.ts";
import { until } from "../support/sidecar/sidecar.ts";

const TIMES = { timeout: 300_000 };
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-services-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function configured(name: string, config: object): Promise<{ readonly args: readonly string[] }> {
  const file = join(folder, `${name}.yaml`);
  await writeFile(file, JSON.stringify({ agents_protocol: true, ...config }));
  return { args: ["--config", file] };
}

async function start(nats: Pick<NatsServer, "url">, name: string, config: object = {}): Promise<RelayProcess> {
  return RelayProcess.start(nats.url, await configured(name, config));
}

/** The messages that answer one prompt. */
class Prompted {
  readonly messages: Msg[] = [];

  constructor({ nc }: Coordinator, subject: string, data: string | Uint8Array, named = "") {
    const reply = `_INBOX.test.${crypto.randomUUID()}`;
    nc.subscribe(reply, { callback: (_err, message) => void this.messages.push(message) });
    const block = headers();
    if (named !== "") block.set("Nats-Msg-Id", named);
    nc.publish(subject, data, { reply, headers: block });
  }

  /** All messages, once the last has come, as code and body. */
  async all(): Promise<readonly (readonly [string, unknown])[]> {
    const isEnd = ({ data, headers: block }: Msg) => data.length === 0 && block === undefined;
    await until("the end", 60_000, () => this.messages.some(isEnd) || undefined);
    return this.messages
      .slice(0, -1)
      .map((message) => [message.headers?.get("Nats-Service-Error-Code") ?? "", message.json<unknown>()]);
  }
}

const SUBJECT = "agents.prompt.coding.a.agent-1";

/** An agent that callers reach at `SUBJECT`. */
async function offered(relay: RelayProcess, { nc }: Coordinator): Promise<SeedAgent> {
  const agent = SeedAgent.begin(await relay.url(), { session: "a", agent: "agent-1" });
  agent.answer = () => textResult("ok");
  await until("the agent to be offered", 60_000, () =>
    nc.request(SUBJECT.replace("prompt", "status"), "", { timeout: 1000 }).catch(() => undefined),
  );
  return agent;
}

describe.concurrent("a prompt by the agent protocol", () => {
  it("is refused with 400 and does not reach the agent when it is malformed", TIMES, async () => {
    await using nats = await NatsServer.start(await oldestNats());
    await using coordinator = await Coordinator.connect(nats);
    await using relay = await start(nats, "refused");
    using agent = await offered(relay, coordinator);
    const ok = async (data: string) => {
      const [ack, text] = await new Prompted(coordinator, SUBJECT, data).all();
      expect([ack?.[1], text?.[1]]).toEqual([
        { type: "status", data: "ack", id: expect.any(String) },
        { type: "response", data: "ok" },
      ]);
    };
    await ok("first");
    for (const [data, message] of [
      ["", "no text"],
      ["{", "not a JSON object"],
      ['{"prompt":1}', "no text"],
      [new Uint8Array([0xff]), "not UTF-8"],
      ['{"prompt":"x","attachments":[{"filename":"a","content":"?"}]}', "padded base64"],
      ["x".repeat(600 * 1024), "a prompt is up to 524288 bytes"],
    ] as const) {
      const [refusal, ...more] = await new Prompted(coordinator, SUBJECT, data).all();
      expect([refusal?.[0], refusal?.[1], more]).toEqual([
        "400",
        { error: expect.stringContaining(message), id: expect.any(String) },
        [],
      ]);
    }
    const long = await new Prompted(coordinator, SUBJECT, "x", "i".repeat(257)).all();
    expect(long).toEqual([["400", { error: "Nats-Msg-Id is up to 256 characters" }]]);
    // Not served: no one would get the answer, or it would go to an agent as a message.
    coordinator.nc.publish(SUBJECT, "x");
    coordinator.nc.publish(SUBJECT, "x", { reply: SUBJECT });
    coordinator.nc.publish(SUBJECT, "x", { reply: "sessions.a.work.coding" });
    await ok("last");
    expect(agent.requests).toHaveLength(2);
    expect(await coordinator.stored("RELAY_DEAD", "sessions.a.dead.coding")).toEqual([]);
    expect(await relay.stop()).toBe(0);
  });

  it("is refused after 16 open ones on its lane; those end with the relay, and their work stays", TIMES, async () => {
    await using nats = await NatsServer.start(await oldestNats());
    await using coordinator = await Coordinator.connect(nats);
    await using relay = await start(nats, "full", { turns: { drain_timeout: "0s" } });
    using agent = await offered(relay, coordinator);
    agent.answer = undefined;
    const open = Array.from({ length: 16 }, (_, index) => new Prompted(coordinator, SUBJECT, `p${index}`));
    for (const each of open) await until("the acknowledgement", 60_000, () => each.messages[0]);
    const full = await new Prompted(coordinator, SUBJECT, "one more").all();
    expect(full).toEqual([["500", { error: "too many prompts are open" }]]);
    const stats = await coordinator.nc.request("$SRV.STATS.agents", "", { timeout: 60_000 });
    expect(stats.json()).toMatchObject({
      type: "io.nats.micro.v1.stats_response",
      endpoints: [{ name: "prompt", num_requests: 17, num_errors: 1 }, { name: "status" }],
    });
    expect(await relay.stop()).toBe(7); // turns were given back
    for (const each of open) {
      expect((await each.all()).at(-1)).toEqual([
        "500",
        { error: "the relay is shutting down; the work goes on", id: expect.any(String) },
      ]);
    }
    expect(await coordinator.waiting()).toBe(16);
    await expect(coordinator.nc.request("$SRV.PING.agents", "", { timeout: 60_000 })).rejects.toThrow(/no responders/i);
  });

  it("needs a signature if work does", TIMES, async () => {
    await using nats = await NatsServer.start(await oldestNats());
    await using coordinator = await Coordinator.connect(nats);
    const key = createUser().getPublicKey();
    await using relay = await start(nats, "signed", { signing: { signers: { ann: key } } });
    using agent = await offered(relay, coordinator);
    expect(await new Prompted(coordinator, SUBJECT, "x").all()).toEqual([["400", { error: "unsigned" }]]);
    expect([agent.requests, await coordinator.waiting()]).toEqual([[], 0]);
  });
});

describe.concurrent.each([
  ["oldest", () => oldestNats()],
  ["newest", newestNats],
] as const)("the agent protocol, on the %s server", (name, program) => {
  it("needs the permissions that relay nats prints", TIMES, async (context) => {
    const nkey = join(folder, `${name}.nk`);
    const printed = async (...more: string[]) => {
      const { stdout } = await runRelay(["nats", "server-config", "--nkey", nkey, ...more]);
      return stdout.replace(/^(listen|jetstream): .*$/gm, "");
    };
    const without = await printed();
    const caller = {
      publish: ["agents.prompt.*.*.*", "agents.status.*.*.*", "agents.query.*.*.*", "$SRV.*.agents", "$SRV.*.agents.*"],
      subscribe: ["agents.hb.*.*.*", "_INBOX.agents.>", "_INBOX.>"],
    };
    const entry = `    { user: ann, password: pw, permissions: ${JSON.stringify(caller)} }\n  ]`;
    const config = { nats: { nkey, inbox_prefix: "_INBOX_relay" } };
    await using nats = await NatsServer.start(await program(context), without);
    {
      await using denied = RelayProcess.spawn(nats.url, await configured(name, config));
      expect(await denied.exited()).toBe(4);
      expect(denied.log).toMatch(/does not permit [^\n]*(agents\.|\$SRV)/);
    }
    await nats.configure((await printed("--agents-protocol")).replace(/^ {2}\]$/m, entry));
    expect(await readFile(nkey, "utf8")).toMatch(/^SU/);
    await using relay = await start(nats, name, config);
    using agent = await SeedAgent.dial(await relay.url(), { session: "a" });
    agent.answer = () => textResult("ok");
    const vendor = await VendorClient.require(context, nats.url.replace("//", "//ann:pw@"));
    expect(await vendor.all("prompt", "a", "x")).toEqual([{ status: "ack" }, { text: "ok" }, { end: true }]);
    expect(await vendor.all("beat", "a")).toMatchObject([{ online: true, ping: true }]);
    expect(relay.lines.filter(({ action }) => ["nats_error", "nats_refuses"].includes(String(action)))).toEqual([]);
  });
});
