import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TestCa } from "../support/certificates.ts";
import { gt } from "../support/gt-transcript.ts";
import { type RunningSidecar, startSidecar } from "../support/sidecar.ts";

const SIDECAR = "spiffe://town.example/ns/agents/session/s1";
const RULES = ["spiffe://town.example/client/reader=read", "spiffe://town.example/client/writer=nudge"];

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
    const town = new TestCa("town");
    const stranger = new TestCa("stranger");
    const write = async (name: string, files: { readonly cert: string; readonly key: string }, ca: string) => {
      await mkdir(join(dir, name));
      const named = { "tls.crt": files.cert, "tls.key": files.key, "ca.crt": ca };
      for (const [file, text] of Object.entries(named)) await writeFile(join(dir, name, file), text, { mode: 0o600 });
    };
    const client = (ca: TestCa, name: string) => ca.issue({ uris: [`spiffe://town.example/client/${name}`] });
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

  it("lets a reader look and not write", async () => {
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

  it.each(["nobody", "stranger"])("answers %s nothing, with exit code 4", async (who) => {
    const refused = await ask(who, "peek", "demo");
    expect(refused.code).toBe(4);
    expect(refused.stdout).toBe("");
  });

  it("answers nobody who brings no certificate or speaks plaintext", async () => {
    const found = await gt(["peek", "test/polecats/demo"], env());
    expect(found).toMatchObject({ code: 4, stderr: expect.stringContaining("wants a certificate") });
    await expect(
      fetch(`${sidecar.url}/gastown.v1.SidecarService/Status`, { method: "POST", body: "{}" }),
    ).rejects.toThrow();
  });
});
