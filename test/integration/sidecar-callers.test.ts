import { createHash, X509Certificate } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, type Interceptor } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { NudgeMode, SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { TerminalService } from "../../internal/gen/gastown/v1/terminal_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { type RunningSidecar, startSidecar } from "../support/sidecar/sidecar.ts";

const CONTROLLER = "spiffe://town/ns/gastown/controller";
const ca = new TestCa("town");
const failure = (call: Promise<unknown>) => call.then(() => "no failure", domainErrorOf);

describe("callers of a sidecar with TLS", () => {
  let tls: string;
  let sidecar: RunningSidecar;
  const connections: Disposable[] = [];
  beforeAll(async () => {
    tls = mkdtempSync(join(tmpdir(), "gt-callers-"));
    const files = ca.issue({ ips: ["127.0.0.1"], uris: ["spiffe://town/ns/agents/session/s1"] });
    for (const [name, text] of [
      ["tls.crt", files.cert],
      ["tls.key", files.key],
      ["ca.crt", files.ca],
    ] as const)
      await writeFile(join(tls, name), text);
    const rules = [`${CONTROLLER}=nudge`, "spiffe://town/client/ann=nudge", "spiffe://town/client/boss=operate"];
    const flags = ["--session-id", "s1", "--tls-dir", tls, ...rules.flatMap((rule) => ["--allow-client", rule])];
    sidecar = await startSidecar({ flags });
  });
  afterAll(async () => {
    for (const connection of connections) connection[Symbol.dispose]();
    await sidecar[Symbol.asyncDispose]();
    await rm(tls, { recursive: true });
  });

  /** A client with this certificate, which names the sender in a header. */
  function clientOf(uri: string, sender?: string) {
    const naming: Interceptor = (next) => (req) => {
      if (sender !== undefined) req.header.set("gastown-sender", sender);
      return next(req);
    };
    const connection = sidecarTransport({
      baseUrl: `https://127.0.0.1:${sidecar.port}`,
      tls: ca.issue({ uris: [uri] }),
      interceptors: [naming],
    });
    connections.push(connection);
    return createClient(SidecarService, connection.transport);
  }

  it("see and cancel only their own nudges, and are named `<sender> via <peer>` behind a controller", async () => {
    const ann = clientOf(CONTROLLER, "ann");
    const bob = clientOf(CONTROLLER, "bob");
    const requestId = "of-ann";
    const queued = { message: "later", requestId, mode: NudgeMode.QUEUE };
    await ann.nudge(queued);
    expect((await ann.getNudge({ requestId })).requestId).toBe(requestId);
    expect(await failure(bob.getNudge({ requestId }))).toMatchObject({ kind: "not-found" });
    expect(await failure(bob.cancelNudge({ requestId }))).toMatchObject({ kind: "not-found" });
    expect((await clientOf("spiffe://town/client/boss").getNudge({ requestId })).requestId).toBe(requestId);
    expect(sidecar.log()).not.toContain("bob via");
    await expect.poll(() => sidecar.log(), { timeout: 60_000 }).toContain(`"sender":"ann via ${CONTROLLER}"`);
  });

  it("keep their own identity, whomever they name, unless they may name a sender", async () => {
    const direct = clientOf("spiffe://town/client/ann", "boss");
    await direct.nudge({ message: "direct", requestId: "direct", mode: NudgeMode.QUEUE });
    await expect.poll(() => sidecar.log(), { timeout: 60_000 }).toContain('"sender":"spiffe://town/client/ann"');
    expect(sidecar.log()).not.toContain("boss via");
  });

  it("learn from Status which certificate and CAs are in use", async () => {
    const status = await clientOf("spiffe://town/client/boss").status({});
    const leaf = new X509Certificate(await readFile(join(tls, "tls.crt")));
    const root = createHash("sha256").update(new X509Certificate(ca.pem).raw).digest("hex");
    expect([status.tlsSerial, status.caSha256]).toEqual([leaf.serialNumber, [root]]);
    expect(status.personInputAt).toBeUndefined();
  });

  it("have separate positions under the same subscriber_id", async () => {
    const ann = clientOf(CONTROLLER, "ann");
    const bob = clientOf(CONTROLLER, "bob");
    const first = async (client: typeof ann) => {
      for await (const event of client.streamEvents({ subscriberId: "log" }, { timeoutMs: 60_000 })) return event;
      throw new Error("no event");
    };
    const { epoch } = await first(ann);
    await ann.ackEvents({ subscriberId: "log", ackSeq: 2n, epoch });
    expect([(await first(ann)).seq, (await first(bob)).seq]).toEqual([3n, 1n]);
    expect(await failure(bob.ackEvents({ subscriberId: "log", ackSeq: 1n }))).toMatchObject({ kind: "invalid" });
  });
});

describe("a request that types", () => {
  let sidecar: RunningSidecar;
  beforeAll(async () => {
    sidecar = await startSidecar();
    await sidecar.untilState(AgentState.IDLE);
  });
  afterAll(() => sidecar[Symbol.asyncDispose]());

  const post = async (method: string, body: string | Uint8Array<ArrayBuffer>, type = "application/json") => {
    const headers = { "content-type": type };
    const answer = await fetch(`${sidecar.url}/gastown.v1.${method}`, { method: "POST", headers, body });
    return [answer.status, ((await answer.json()) as { code?: string }).code];
  };

  it.each([
    ["SidecarService/Nudge", { message: "x", colour: "red" }],
    ["SidecarService/Nudge", { message: "x", mode: "NUDGE_MODE_SHOUT" }],
    ["SidecarService/Nudge", { message: "x", mode: 99 }],
    ["SidecarService/Nudge", { message: "x", priority: 99 }],
    ["SidecarService/Nudge", { message: "x", timeoutMs: "-1" }],
    ["SidecarService/Nudge", { message: "x", ttlMs: "86400001" }],
    ["SidecarService/Nudge", { message: "x", quietMs: "600001" }],
    ["SidecarService/SendKeys", { keys: ["Up"], repeat: 2 }],
    ["SidecarService/Respond", { dialogId: "d", choice: "1", force: true }],
    ["TerminalService/SendInput", { input: "x", submit: false }],
    ["SidecarService/StopAgent", { forced: true }],
    ["TerminalService/SendInput", { input: "" }],
  ])("is refused: %s %j", async (method, body) => {
    expect(await post(method, JSON.stringify(body))).toEqual([400, "invalid_argument"]);
  });

  it.each([
    ["application/json", Buffer.from('{"message":"\xff"}', "latin1")],
    ["application/proto", Buffer.from([0x0a, 1, 0xff])],
  ])("is refused when it is not UTF-8: %s", async (type, body) => {
    expect(await post("SidecarService/Nudge", body, type)).toEqual([400, "invalid_argument"]);
    expect(await sidecar.taken()).toEqual([]);
  });

  it("has its text cleaned by SendInput: a carriage return submits nothing, Ctrl-C ends nothing", async () => {
    using connection = sidecarTransport({ baseUrl: sidecar.url });
    const terminal = createClient(TerminalService, connection.transport);
    const typed = await terminal.sendInput({ input: "one\rtwo\x03 three\x1b[A\r", nudge: false });
    expect(typed).toMatchObject({ delivered: true, error: "" });
    await expect.poll(async () => (await sidecar.client.peek({})).output).toContain("two three");
    expect(await sidecar.taken()).toEqual([]);
    expect((await sidecar.client.status({})).sessionAlive).toBe(true);
    expect(await failure(terminal.sendInput({ input: "on top", nudge: false }))).toMatchObject({
      kind: "precondition",
    });
    const nudged = await sidecar.client.nudge({ message: "m", mode: NudgeMode.IMMEDIATE });
    expect(nudged.outcome).toBe(NudgeOutcome.COMPOSER_BUSY);
    expect(await terminal.sendInput({ input: "\x03\r", nudge: false })).toMatchObject({ delivered: false });
  });
});
