import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { findCall } from "../../internal/cli/command/find-call.ts";
import { describeHelp } from "../../test/support/help-of.ts";
import { readCommonSettings, readServe, readTokenConfig } from "./config.ts";
import { openConfig } from "./open-config.ts";
import { threads } from "./program.ts";

const ENV = { HOME: "/home/a", PATH: "/bin", XDG_RUNTIME_DIR: "/run/user/7" };

/** The command that a line selects, and the settings that it reads. */
async function read(argv: readonly string[], env: Readonly<Record<string, string>> = ENV) {
  const call = await findCall(threads, argv, env);
  if (call.type !== "run") return { type: call.type };
  const { given } = call;
  const { name: type } = call.command;
  if (type === "token") return { type, ...readTokenConfig(given, env) };
  return {
    type,
    ...(type === "migrate" || type === "doctor" ? readCommonSettings(given, env) : readServe(given, env)),
  };
}

describe("the command line of threads", () => {
  it("serves without a command, on loopback and with its own PostgreSQL", async () => {
    const served = {
      listen: { host: "127.0.0.1", port: 9448 },
      healthListen: { host: "127.0.0.1", port: 9449 },
      databaseUrl: undefined,
      runtime: "local",
      runtimeDir: "/run/user/7",
      workspace: "default",
      logLevel: "info",
    };
    expect(await read([])).toMatchObject({ type: "threads", ...served });
    expect(await read(["serve"])).toMatchObject({ type: "serve", ...served });
  });

  it("reads the environment below the flags", async () => {
    const env = {
      ...ENV,
      GT_THREADS_STATE_DIR: "/s",
      GT_THREADS_DATABASE_URL: "postgres://a/b",
      GT_THREADS_RUNTIME: "none",
    };
    expect(await read(["--state-dir", "/t"], env)).toMatchObject({ stateDir: "/t", runtime: "none" });
    expect(await read(["migrate"], env)).toMatchObject({ stateDir: "/s", migrateUrl: "postgres://a/b" });
  });

  it("serves any address if it has a certificate", async () => {
    const argv = ["--listen", "0.0.0.0:9448", "--health-listen", "[::]:9449", "--tls-dir", "/etc/threads/tls"];
    expect(await read(argv)).toMatchObject({ listen: { host: "0.0.0.0" }, tls: { dir: "/etc/threads/tls" } });
    expect(await read([])).toMatchObject({ tls: undefined });
  });

  it("calls the bridge of the flag when its file names none, and is refused without both", async () => {
    const dir = mkdtempSync(join(tmpdir(), "threads-file-"));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const file = join(dir, "threads.yaml");
    const key = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" });
    writeFileSync(join(dir, "key"), key, { mode: 0o600 });
    writeFileSync(file, "runtime: { kind: bridge, tls_dir: tls, jwt_key: key, jwt_issuer: shop }\n");
    const runtime = { server: "b:9445", issuer: "shop" };
    expect(await read(["--config", file, "--bridge", "b:9445"])).toMatchObject({ runtime });
    await expect(read(["--config", file])).rejects.toThrow("needs --bridge, or runtime.bridge_url");
    expect(openConfig(file).findings.warnings).toMatchObject([
      { reason: expect.stringContaining("has no bridge_url") },
    ]);
  });

  it("mints tokens for an hour at most, and for five minutes for a person", async () => {
    expect(await read(["token", "--agent", "a/b"])).toMatchObject({ role: "worker", ttlMs: 3_600_000 });
    expect(await read(["token", "--agent", "me", "--role", "operator"])).toMatchObject({ ttlMs: 300_000 });
  });

  it("accepts help and version anywhere on the line", async () => {
    expect(await read(["token", "--help"])).toEqual({ type: "help" });
    expect(await read(["serve", "--version"])).toEqual({ type: "version" });
  });

  it.for([
    [["doktor"], /unknown command "doktor"/],
    [["serve", "now"], /unexpected argument "now"/],
    [["token"], /threads token needs --agent/],
    [["token", "--agent", "a", "--ttl", "2h"], /--ttl is between 1s and 60m/],
    [["token", "--agent", "a", "--role", "system"], /--role is not a role: "system"/],
    [["token", "--agent", "a", "--session", "a b"], /--session is not a session: "a b"/],
    [["token", "--agent", "a", "--listen", "127.0.0.1:1"], /unknown flag --listen/],
    [["--listen", "0.0.0.0:9448"], /--listen: cannot serve 0\.0\.0\.0 in plaintext/],
    [["--runtime", "kubernetes"], /--runtime takes local, bridge or none/],
    [["--log-level", "loud"], /--log-level takes debug/],
    [["doctor", "--database-url", "mysql://x"], /--database-url is not a URL that begins with postgres/],
  ] as const)("refuses %j", async ([argv, message]) => {
    await expect(read(argv)).rejects.toThrow(
      expect.objectContaining({ kind: "invalid", message: expect.stringMatching(message) }),
    );
  });

  it("reads a word that resembles no command as an unknown command", async () => {
    const call = await findCall(threads, ["something-else"], ENV);
    if (call.type !== "run") throw new Error("it is a call of threads itself");
    const context = { env: ENV } as Partial<CommandContext> as CommandContext;
    await expect(call.command.run(call.given, context)).rejects.toThrow('unknown command "something-else"');
  });
});

await describeHelp(threads);
