import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeProvider, ProviderSession } from "../support/agents/provider-session.ts";

const demoAgent = fileURLToPath(new URL("../../cmd/demo-agent/main.ts", import.meta.url));
let dir = "";

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-providers-"));
});

afterAll(() => rm(dir, { recursive: true, force: true }));

function demo(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  return makeProvider({
    provider: "demo",
    binary: process.execPath,
    leading: ["--disable-warning=ExperimentalWarning", demoAgent],
    args: ["--turn-ms", "60", ...args],
    env: { ...process.env, ...env },
  });
}

async function taken(log: string): Promise<readonly string[]> {
  const text = await readFile(log, "utf8").catch(() => "");
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { text: string }).text);
}

describe.concurrent("the demo provider", () => {
  it("takes two turns, each message once, and reports the agent's phases", async () => {
    const log = join(dir, "two-turns.log");
    await using session = await ProviderSession.start(demo(["--log", log]), dir);
    expect(await session.send("first message", "a-1")).toEqual({ outcome: "submitted", error: "" });
    await session.turns(1);
    expect(await session.send("first message", "a-1")).toEqual({ outcome: "submitted", error: "" });
    expect(await session.send("second\nmessage — ünï", "a-2")).toMatchObject({ outcome: "submitted" });
    await session.turns(2);
    expect(await taken(log)).toEqual(["first message", "second\nmessage — ünï"]);
    expect(session.text).toContain("Read your message (2 words)");
    expect(session.phases).toEqual(["idle", "busy", "idle", "busy", "idle"]);
    await session.provider.stop(session.handle, 5_000);
    await session.read;
    expect(session.last).toEqual({ type: "ended", exitCode: 0 });
    expect(await session.send("too late", "a-3")).toMatchObject({ outcome: "agent-dead" });
  });

  it("answers with queued while it works, and reports when the message was taken", async () => {
    const log = join(dir, "queued.log");
    await using session = await ProviderSession.start(demo(["--log", log, "--turn-ms", "4000"]), dir);
    await session.send("first", "q-1");
    await session.until("the turn", ({ phases }) => phases.includes("busy"));
    expect(await session.send("second", "q-2")).toEqual({ outcome: "queued", error: "" });
    await session.until("the settled input", ({ events }) => events.some((event) => event.type === "input-settled"));
    expect(session.events).toContainEqual({
      type: "input-settled",
      requestId: "q-2",
      result: { outcome: "submitted", error: "" },
    });
    await session.turns(1);
    expect(await taken(log)).toEqual(["first", "second"]);
  });

  it.each([
    ["deny", "Not allowed"],
    ["allow", "Allowed"],
  ])("answers a permission request with %s, and reports the dialog", async (mode, shown) => {
    const tools = join(dir, `tools-${mode}.log`);
    const provider = demo(["--tool-log", tools]);
    await using session = await ProviderSession.start(provider, dir, { permission_mode: mode });
    await session.send("run: rm -rf /tmp/x", "p-1");
    await session.turns(1);
    expect(session.phases).toEqual(["idle", "busy", "dialog", "busy", "idle"]);
    const opened = session.events.find((event) => event.type === "dialog-opened");
    expect(opened).toMatchObject({ dialog: { kind: "permission", text: "rm -rf /tmp/x" } });
    expect(session.events.filter((event) => event.type === "dialog-closed")).toHaveLength(1);
    expect(session.text).toContain(shown);
    expect(await readFile(tools, "utf8").catch(() => "")).toBe(mode === "allow" ? "rm -rf /tmp/x\n" : "");
  });

  it("passes the program's raw lines on instead of the text if raw is set", async () => {
    await using session = await ProviderSession.start(demo(), dir, { raw: "true" });
    await session.send("hello", "r-1");
    await session.turns(1);
    expect(session.text).toContain('{"type":"taken","id":"r-1","held":false}\n');
    for (const line of session.text.trimEnd().split("\n")) expect(() => JSON.parse(line)).not.toThrow();
    expect(session.phases).toEqual(["idle", "busy", "idle"]);
  });

  it("passes lines outside the protocol on as text without escape sequences", async () => {
    await using session = await ProviderSession.start(demo(["--faults", "garbage"]), dir);
    await session.send("hello", "g-1");
    await session.turns(1);
    expect(session.text).toContain("%begin 1700000000 1 1\n{not json\n");
    expect(session.text).not.toContain("\x1b");
  });

  it("reports the agent's exit in the middle of a turn, and settles queued messages", async () => {
    const provider = demo(["--faults", "exit-on=BOOM,exit-code=7", "--turn-ms", "4000"]);
    await using session = await ProviderSession.start(provider, dir);
    await session.send("slow", "e-1");
    await session.until("the turn", ({ phases }) => phases.includes("busy"));
    expect(await session.send("BOOM", "e-2")).toMatchObject({ outcome: "queued" });
    await session.read;
    expect(session.last).toEqual({ type: "ended", error: "the agent ended with code 7", exitCode: 7 });
    expect(session.events.filter((event) => event.type === "ended")).toHaveLength(1);
  });

  it("refuses unlisted options before it starts anything", async () => {
    const provider = demo();
    for (const options of [{ model: "x" }, { raw: "yes" }, { permission_mode: "--allow" }, { __proto__x: "1" }]) {
      await expect(ProviderSession.start(provider, dir, options as Record<string, string>)).rejects.toMatchObject({
        kind: "invalid",
      });
    }
  });

  it("removes a surrounding terminal and the daemon's secrets from the agent's environment", async () => {
    const secrets = { TMUX: "/tmp/x,1,0", TMUX_PANE: "%1", BRIDGE_CA_PASSPHRASE: "s3cret", GT_TOKEN: "t0ken" };
    await using session = await ProviderSession.start(demo([], secrets), dir);
    const environment = await readFile(`/proc/${session.handle.pid}/environ`, "latin1");
    expect(environment).toContain("PATH=");
    for (const [name, value] of Object.entries(secrets)) {
      expect(environment).not.toContain(`${name}=`);
      expect(environment).not.toContain(value);
    }
  });

  it("reports its version, or that its program is missing", async () => {
    expect(await demo().health(new AbortController().signal)).toMatchObject({ available: true, error: "" });
    const missing = makeProvider({ provider: "demo", binary: "no-such-agent" });
    expect(await missing.health(new AbortController().signal)).toEqual({
      available: false,
      error: 'no program "no-such-agent" found',
      version: "",
    });
    await expect(ProviderSession.start(missing, dir)).rejects.toMatchObject({ kind: "precondition" });
  });
});
