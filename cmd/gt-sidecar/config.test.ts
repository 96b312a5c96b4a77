import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { DEFAULT_REDACT_PATTERNS } from "../../internal/base/redact.ts";
import { findCall } from "../../internal/cli/command/find-call.ts";
import { helpText } from "../../internal/cli/command/help-text.ts";
import { namedProgram } from "../../internal/cli/command/named-program.ts";
import { TestCa } from "../../test/support/bridge/certificates.ts";
import { writeTls } from "../../test/support/bridge/secret.ts";
import { describeHelp } from "../../test/support/help-of.ts";
import { readConfig, type SidecarConfig, serveArgs } from "./config.ts";
import { SIDECAR_FLAGS } from "./flags.ts";
import { gtSidecar } from "./program.ts";

const RUNTIME_DIR = mkdtempSync(join(tmpdir(), "gt-config-"));
afterAll(() => rm(RUNTIME_DIR, { recursive: true }));
const ENV = { PATH: "/usr/bin:/bin", HOME: "/home/me", XDG_RUNTIME_DIR: RUNTIME_DIR };
const AGENT = ["--agent", "generic"];
const program = gtSidecar(() => Promise.resolve(0));
const help = await helpText(namedProgram(program));

function config(argv: readonly string[], env: Readonly<Record<string, string | undefined>> = ENV): SidecarConfig {
  return readConfig(argv.includes("--") ? argv : [...argv, "--", "sh"], env);
}

describe("without flags", () => {
  it("is as documented", () => {
    const { half, sidecar, listen, healthListen, tlsDir, graceMs, roleRules } = config(AGENT);
    expect({ half, listen, healthListen, tlsDir, graceMs, roleRules }).toEqual({
      half: "both",
      listen: { host: "127.0.0.1", port: 9090 },
      healthListen: { host: "127.0.0.1", port: 9091 },
      tlsDir: undefined,
      graceMs: 10_000,
      roleRules: undefined,
    });
    expect(sidecar).toMatchObject({
      stateDir: join(RUNTIME_DIR, "gt-sidecar"),
      agent: "generic",
      home: "/home/me",
      cols: 160,
      rows: 50,
      historyLimit: 20_000,
      rawBytes: 8 * 1024 * 1024,
      restart: "on-failure",
      lingerMs: 0,
      stallAfterMs: 600_000,
      eventBuffer: 10_000,
      eventBytes: 16 * 1024 * 1024,
      redactPatterns: DEFAULT_REDACT_PATTERNS,
      identity: { project: "default", sessionId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    });
    expect(sidecar.command[0]).toMatch(/^\/(?:usr\/)?bin\/sh$/);
  });

  it.each([[undefined], [""]])("creates a private state folder if XDG_RUNTIME_DIR is %j", (dir) => {
    const { stateDir } = config(AGENT, { ...ENV, XDG_RUNTIME_DIR: dir }).sidecar;
    try {
      expect(stateDir).toMatch(/\/gt-sidecar-[A-Za-z0-9]{6}$/);
      expect(existsSync(stateDir)).toBe(true);
    } finally {
      rmSync(stateDir, { recursive: true });
    }
  });
});

it("uses the given patterns for secrets, commas included, instead of the defaults", () => {
  const patterns = (...flags: string[]) => config([...AGENT, ...flags]).sidecar.redactPatterns;
  expect(patterns("--redact-pattern", "a{1,3}", "--redact-pattern", "b,c")).toEqual(["a{1,3}", "b,c"]);
  expect(patterns("--redact-pattern", "")).toEqual([]);
  expect(() => patterns("--redact-pattern", "(?<=look)")).toThrow("is not a valid RE2 pattern");
});

it("prefers flags to the environment", () => {
  const env = { ...ENV, GT_SIDECAR_LISTEN: "127.0.0.1:1", GT_AGENT_RESTART: "never", GT_PROJECT: "from-env" };
  const { listen, sidecar } = config([...AGENT, "--listen", "127.0.0.1:2", "--project", "from-flag"], env);
  expect([listen.port, sidecar.restart, sidecar.identity.project]).toEqual([2, "never", "from-flag"]);
});

it("takes the times of its end from the environment, and prefers the flags", () => {
  const env = { ...ENV, GT_SIDECAR_GRACE: "3s", GT_SIDECAR_LINGER: "1m" };
  const times = ({ graceMs, sidecar }: SidecarConfig) => [graceMs, sidecar.lingerMs];
  expect(times(config(AGENT, env))).toEqual([3000, 60_000]);
  expect(times(config([...AGENT, "--grace", "4s", "--linger", "2m"], env))).toEqual([4000, 120_000]);
});

it.each([
  ["sh -c 'exit 3'", ["-c", "exit 3"]],
  ['sh  -c "a b"  c', ["-c", "a b", "c"]],
])("takes the agent's command from the environment: %s", (text, args) => {
  const read = readConfig(AGENT, { ...ENV, GT_AGENT_COMMAND: text });
  expect(typeof read === "object" && read.sidecar.command.slice(1)).toEqual(args);
});

it("starts the bundled demo agent if none is in PATH", () => {
  const read = readConfig(["--agent", "demo"], ENV);
  expect(typeof read === "object" && read.sidecar.command).toEqual([
    process.execPath,
    "--disable-warning=ExperimentalWarning",
    expect.stringMatching(/\/cmd\/demo-agent\/main\.ts$/),
  ]);
});

it("explains every flag that it takes in its help", () => {
  const names = Object.keys(SIDECAR_FLAGS);
  expect(names.length).toBeGreaterThan(20);
  for (const name of names) expect(help).toMatch(new RegExp(`--${name}\\b`));
  expect(help).toContain("replaces the built-in patterns");
});

describe("refuses and names", () => {
  it.each([
    ["a stall time of zero", [...AGENT, "--stall-after", "0s"], "--stall-after takes more than 0s"],
    ["an empty address", [...AGENT, "--address", ""], "--address is empty"],
    [
      "a line feed in the address",
      [...AGENT, "--address", "a\nb"],
      '--address takes one line of at most 512 characters, not "a\\nb"',
    ],
    ["a line feed in the project", [...AGENT, "--project", "a\nb"], "--project takes one line"],
    ["an argument that is not behind --", [...AGENT, "claude"], "claude"],
    ["an unknown flag", [...AGENT, "--lines", "4"], "--lines"],
    ["an unknown agent", ["--agent", "gpt"], "gpt"],
    ["a size that is too small", [...AGENT, "--cols", "19"], "--cols"],
    ["a size that is too large", [...AGENT, "--rows", "301"], "--rows"],
    ["an unknown word", [...AGENT, "--restart", "sometimes"], "--restart"],
    ["a bad session id", [...AGENT, "--session-id", "a/b"], "--session-id"],
    ["a bad rule for callers", [...AGENT, "--allow-client", "me=read"], "me=read"],
    ["a folder without certificates", [...AGENT, "--tls-dir", "/nonexistent"], "/nonexistent/tls.crt"],
    ["plaintext for a network", [...AGENT, "--listen", "0.0.0.0:9090"], "0.0.0.0"],
  ])("%s", (_, argv, named) => {
    expect(() => config(argv)).toThrow(
      expect.objectContaining({ kind: "invalid", message: expect.stringContaining(named) }),
    );
  });

  it("a wrong flag before a missing program", () => {
    for (const wrong of [
      ["--rows", "301"],
      ["--log-level", "loud"],
      ["--allow-client", "me=read"],
      ["--listen", "0:1"],
    ]) {
      expect(() => config(["--agent", "generic", ...wrong, "--", "no-such-agent"])).toThrow(
        expect.objectContaining({ kind: "invalid" }),
      );
    }
  });

  it("a session other than the one in its certificate", async () => {
    const dir = await mkdtemp(join(tmpdir(), "gt-tls-"));
    try {
      const uris = ["spiffe://town.example/ns/agents/session/s1"];
      await writeTls(dir, new TestCa("town").issue({ uris, usages: ["server"] }));
      const tls = [...AGENT, "--tls-dir", dir];
      expect(config(tls).sidecar.identity.sessionId).toBe("s1");
      expect(config([...tls, "--session-id", "s1"]).sidecar.identity.sessionId).toBe("s1");
      const wrong = [...tls, "--session-id", "s2"];
      const message = 'tls.crt is for session "s1", but this is session "s2"';
      expect(() => config(wrong)).toThrow(expect.objectContaining({ kind: "invalid", message }));
      expect(config(["serve", ...wrong]).sidecar.identity.sessionId).toBe("s2"); // waits for the right one
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  it("half a sidecar without a folder to share", () => {
    const { XDG_RUNTIME_DIR: _, ...env } = ENV;
    expect(() => config(["serve", ...AGENT], env)).toThrow("--state-dir");
  });

  it("a missing program", () => {
    expect(() => config([...AGENT, "--", "no-such-agent"])).toThrow(expect.objectContaining({ kind: "not-found" }));
  });

  it("a missing command if the profile has none", () => {
    expect(() => readConfig(AGENT, ENV)).toThrow(expect.objectContaining({ kind: "invalid" }));
  });
});

it("serves a network in plaintext if --insecure-plaintext is given", () => {
  expect(config([...AGENT, "--listen", "0.0.0.0:1", "--insecure-plaintext"]).listen.host).toBe("0.0.0.0");
  expect(config([...AGENT, "--listen", "0.0.0.0:1"], { ...ENV, GT_SIDECAR_INSECURE: "1" }).listen.host).toBe("0.0.0.0");
});

it.each([
  [["--help"], "help"],
  [["serve", "-h"], "help"],
  [["--version"], "version"],
])("%j asks for %s", async (argv, asked) => {
  expect(await findCall(program, argv, ENV)).toMatchObject({ type: asked });
});

await describeHelp(program);

it("gives the serving half the same configuration, with the defaults filled in", async () => {
  const whole = config([...AGENT, "--listen", "127.0.0.1:0", "--cols", "99", "--", "sh", "-c", "exit 0"]);
  const serving = config(await serveArgs(whole));
  expect(serving.half).toBe("serve");
  expect(serving.listen.port).toBeGreaterThan(0);
  expect(serving.sidecar).toEqual(whole.sidecar);
  expect(serving.sidecar.stateDir).toBe(join(RUNTIME_DIR, "gt-sidecar"));
});

describe("keys of token issuers", () => {
  it("are read, with the audience of the tokens", () => {
    const keys = ["--tls-dir", "/t", "--jwt-key", "shop=/k/shop.pub", "--jwt-key", "shop=next.pub"];
    const serve = (...flags: string[]) =>
      readConfig(["serve", ...AGENT, "--state-dir", "/s", ...flags, "--", "sh"], ENV);
    expect(serve(...keys)).toMatchObject({
      tokens: {
        audience: "gt-sidecar",
        keyFiles: [
          { path: "/k/shop.pub", rule: { issuer: "shop" } },
          { path: join(process.cwd(), "next.pub"), rule: { issuer: "shop" } },
        ],
      },
    });
    expect(serve(...keys, "--jwt-audience", "mine")).toMatchObject({ tokens: { audience: "mine" } });
    expect(serve()).toMatchObject({ tokens: undefined, crlPolicy: "if-present" });
    const audited = serve(...keys, "--crl-policy", "require", "--audit-log", "a.log");
    expect(audited).toMatchObject({ crlPolicy: "require", auditLog: join(process.cwd(), "a.log") });
  });

  it.each([
    [["--jwt-key", "shop"], "ISSUER=FILE"],
    [["--jwt-key", "=file"], "ISSUER=FILE"],
    [["--jwt-key", "shop="], "ISSUER=FILE"],
    [["--jwt-key", "shop=file"], "needs --tls-dir"],
    [["--jwt-audience", "x"], "needs --jwt-key"],
    [["--crl-policy", "require"], "needs --tls-dir"],
    [["--crl-policy", "never", "--tls-dir", "/t"], "require or if-present"],
    [["--audit-log", "a.log"], "needs --tls-dir"],
    [["--audit-log", ""], "--audit-log is empty"],
  ])("are refused: %j", (flags, words) => {
    expect(() => config([...AGENT, ...flags])).toThrow(words);
  });
});
