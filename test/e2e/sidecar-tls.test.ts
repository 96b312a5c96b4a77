import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DescMethodStreaming, DescMethodUnary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { TerminalService } from "../../internal/gen/gastown/v1/terminal_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import type { TlsMaterial } from "../../internal/rpc/common/tls.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { gt } from "../support/bridge/gt-transcript.ts";
import { writeTls } from "../support/bridge/secret.ts";
import { type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";

const SIDECAR = "spiffe://town.example/ns/agents/session/s1";
const RULES = ["spiffe://town.example/client/reader=read", "spiffe://town.example/client/writer=nudge"];

const town = new TestCa("town");
const client = (ca: TestCa, name: string) => ca.issue({ uris: [`spiffe://town.example/client/${name}`] });

describe("a sidecar that serves TLS", () => {
  let dir: string;
  let sidecar: RunningSidecar;
  const env = () => ({
    PATH: process.env["PATH"] ?? "",
    HOME: dir,
    XDG_RUNTIME_DIR: sidecar.runtimeDir,
    LANG: "C.UTF-8",
  });
  const ask = (who: string, ...args: string[]) =>
    gt([...args, "--host", sidecar.host, "--port", String(sidecar.port), "--tls-dir", join(dir, who)], env());

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "gt-tls-"));
    const stranger = new TestCa("stranger");
    const write = (name: string, files: TlsMaterial, ca: string) => writeTls(join(dir, name), { ...files, ca });
    await write("sidecar", town.issue({ uris: [SIDECAR], ips: ["127.0.0.1"] }), town.pem);
    await write("reader", client(town, "reader"), town.pem);
    await write("writer", client(town, "writer"), town.pem);
    await write("nobody", client(town, "nobody"), town.pem);
    await write("stranger", client(stranger, "writer"), town.pem);
    const allowed = RULES.flatMap((rule) => ["--allow-client", rule]);
    sidecar = await startSidecar({ flags: ["--tls-dir", join(dir, "sidecar"), ...allowed] });
  });
  afterAll(async () => {
    await sidecar?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  it.each(["peek", "nudge", "status"])("tells %s in plaintext that it serves TLS", async (command) => {
    const words = [command, "demo", ...(command === "nudge" ? ["hello"] : [])];
    const shown = await gt([...words, "--host", sidecar.host, "--port", String(sidecar.port)], env());
    expect(shown).toEqual({
      code: 4,
      stdout: "",
      stderr: `gt: error: ${sidecar.host}:${sidecar.port} serves TLS, and no certificate was given\ngt: hint: give --tls-dir (GT_TLS_DIR), or --ca, --cert and --key\n`,
    });
  });

  it("lets a reader look but not write", async () => {
    const looked = await ask("reader", "peek", "demo");
    expect(looked).toMatchObject({ code: 0, stdout: expect.stringContaining("Type a message") });
    const refused = await ask("reader", "nudge", "demo", "hello");
    expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining("needs the role nudge") });
    expect(await sidecar.taken()).toEqual([]);
  });

  it("lets a writer write, under the name of its certificate", async () => {
    const sent = await ask("writer", "nudge", "demo", "from a known writer", "--json");
    expect(sent.code).toBe(0);
    expect(JSON.parse(sent.stdout)).toMatchObject({ outcome: "submitted" });
    expect(sidecar.log()).toContain('"sender":"spiffe://town.example/client/writer"');
    expect(await sidecar.taken()).toEqual(["from a known writer"]);
  });

  it.each(["nobody", "stranger"])("refuses %s with exit code 4", async (who) => {
    const refused = await ask(who, "peek", "demo");
    expect(refused.code).toBe(4);
    expect(refused.stdout).toBe("");
  });

  it("refuses callers without a certificate or in plaintext", async () => {
    const found = await gt(["peek", "test/polecats/demo"], env());
    expect(found).toMatchObject({ code: 4, stderr: expect.stringContaining("requires a certificate") });
    await expect(
      fetch(`${sidecar.url}/gastown.v1.SidecarService/Status`, { method: "POST", body: "{}" }),
    ).rejects.toThrow();
  });

  it("refuses each RPC that the caller's role does not permit", async () => {
    const above = {
      nobody: [SidecarService, TerminalService].flatMap(({ methods }) => methods.map(({ name }) => name)),
      reader: ["Nudge", "GetNudge", "CancelNudge", "SendKeys", "Respond", "StopAgent", "SendInput"],
      writer: ["SendKeys", "Respond", "StopAgent"],
    };
    for (const [who, names] of Object.entries(above)) {
      for (const name of names) {
        const refused = await callAs(client(town, who), name);
        const message = expect.stringMatching(new RegExp(`^this caller may not call ${name}: it needs the role`));
        expect([who, name, refused]).toEqual([who, name, expect.objectContaining({ kind: "denied", message })]);
      }
    }
    expect(await sidecar.taken()).toEqual(["from a known writer"]);
  });

  it("loads a new certificate and CA from its folder, even after a kill in between", async () => {
    const next = new TestCa("next");
    const files = next.issue({ uris: [SIDECAR], ips: ["127.0.0.1"] });
    let last: unknown;
    const asked = async (tls: TlsMaterial) => {
      last = await statusAs(tls);
      return last === "ok" || undefined;
    };
    const served = (tls: TlsMaterial) =>
      until(
        "an answer",
        30_000,
        () => asked(tls),
        () => `${last}\n${sidecar.log()}`,
      );
    await served(client(town, "reader"));
    await writeFile(join(dir, "sidecar", "tls.crt"), files.cert); // the old key does not fit it
    const pid = sidecar.servingPid();
    process.kill(pid, "SIGKILL");
    await until("another serving half", 30_000, async () => (await healthText("/livez")) === "ok\n" || undefined);
    await until("the metric", 30_000, async () => {
      const failures = 'gastown_tls_reload_failures_total{reason="mismatch"} 1';
      return (await healthText("/metrics")).includes(failures) || undefined;
    });
    expect((await fetch(`${sidecar.healthUrl}/readyz`)).status).toBe(503);
    await writeTls(join(dir, "sidecar"), files);
    await served({ ...client(next, "reader"), ca: next.pem });
    // TLS 1.3 refuses a caller after its first bytes are on their way: the reset may overtake the alert with the
    // reason.
    expect(["unauthenticated", "unavailable"]).toContain(await statusAs({ ...client(town, "reader"), ca: next.pem }));
    expect((await fetch(`${sidecar.healthUrl}/readyz`)).status).toBe(200);
  });

  const healthText = (path: string) =>
    fetch(`${sidecar.healthUrl}${path}`).then(
      (answer) => answer.text(),
      () => "",
    );

  async function statusAs(tls: TlsMaterial): Promise<unknown> {
    using connection = sidecarTransport({ baseUrl: `https://${sidecar.host}:${sidecar.port}`, tls });
    const status = createClient(SidecarService, connection.transport).status({}, { timeoutMs: 5000 });
    return await status.then(
      () => "ok",
      (err) => (domainErrorOf(err) as { kind?: string }).kind ?? err,
    );
  }

  /** The result of a call with an empty request. */
  async function callAs(tls: TlsMaterial, name: string): Promise<unknown> {
    using connection = sidecarTransport({ baseUrl: `https://${sidecar.host}:${sidecar.port}`, tls });
    const service = TerminalService.methods.some((method) => method.name === name) ? TerminalService : SidecarService;
    const method = service.methods.find((each) => each.name === name);
    if (method === undefined) throw new Error(`no RPC ${name}`);
    const { transport } = connection;
    const signal = AbortSignal.timeout(5000);
    try {
      if (method.methodKind === "unary")
        return await transport.unary(method as DescMethodUnary, signal, undefined, undefined, {});
      async function* nothing() {}
      async function* one() {
        yield {};
      }
      const input = method.methodKind === "server_streaming" ? one() : nothing();
      const { message } = await transport.stream(method as DescMethodStreaming, signal, undefined, undefined, input);
      for await (const _ of message) return "answered";
      return "ended";
    } catch (err) {
      return domainErrorOf(err);
    }
  }
});
