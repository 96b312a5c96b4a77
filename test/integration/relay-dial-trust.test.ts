import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeToken } from "../../internal/auth/token-format.ts";
import { writeTls } from "../support/bridge/secret.ts";
import { programFile } from "../support/programs.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { runRelay } from "../support/relay/relay-process.ts";
import { openTrustedRelay, type TrustedRelay } from "../support/relay/trusted-relay.ts";
import { until } from "../support/sidecar/sidecar.ts";

const TIMES = { timeout: 300_000 };
const AGENT = fileURLToPath(new URL("../fakes/acp-agent-main.ts", import.meta.url));
let room: TrustedRelay;
let coordinator: Coordinator;
let tlsDir: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  room = await openTrustedRelay();
  coordinator = await Coordinator.connect(room.nats);
  tlsDir = join(room.folder, "client");
  await writeTls(tlsDir, { ...room.client, ca: room.ca.pem });
});
afterAll(async () => {
  for (const child of children) await stop(child);
  await coordinator?.[Symbol.asyncDispose]();
  await room?.[Symbol.asyncDispose]();
});

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}

function start(args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [programFile("relay"), ...args], { stdio: "ignore" });
  children.push(child);
  return child;
}

const place = (session: string) => ["--session", session, "--role", "coding", "--agent-id", "agent_acp"];
const signer = () => ["--jwt-key", room.keyFile, "--jwt-issuer", "town", "--project", "p"];
const toRelay = () => ["--server", `wss://127.0.0.1:${room.port}`, "--tls-dir", tlsDir];
const AGENT_COMMAND = ["--", process.execPath, AGENT];

async function works(session: string): Promise<void> {
  await coordinator.work(session, { id: "w1", type: "work.coding", payload: { task: "hello" } });
  expect((await coordinator.results(session, 1))[0]?.body["type"]).toBe("result.success");
}

describe.concurrent("relay token", () => {
  it("prints a token that admits one agent of one session", async () => {
    const more = ["--ttl", "90s", "--subject", "ci", "--cert", join(tlsDir, "tls.crt")];
    const { code, stdout } = await runRelay(["token", ...place("printed"), ...signer(), ...more]);
    expect(code).toBe(0);
    const text = stdout.trim();
    const { claims } = decodeToken(text);
    expect(claims).toEqual({
      ...{ iss: "town", sub: "ci", aud: "relay", project_id: "p", cnf: { "x5t#S256": expect.any(String) } },
      ...{ session_id: "printed", role: "coding", agent_id: "agent_acp" },
      ...{ iat: expect.any(Number), exp: Number(claims["iat"]) + 90 },
    });
    const authorization = [`Bearer ${text}`];
    const path = "/acp/printed/coding?agent_id=agent_acp";
    expect((await room.ask({ path, authorization })).status).toBe(101);
    expect((await room.ask({ path, authorization, client: room.newClient() })).status).toBe(401);
  });

  it.each<[readonly string[], string]>([
    [[], "--jwt-key is missing"],
    [["--jwt-key", "k"], "a token needs all three of --jwt-key, --jwt-issuer and --project"],
    [["--jwt-key", "none.key", "--jwt-issuer", "i", "--project", "p"], "none.key"],
    [["--jwt-key", "k", "--jwt-issuer", "i", "--project", "p", "--ttl", "6m"], "--ttl is between 1s and 5m"],
    [["--jwt-key", "k", "--jwt-issuer", "i", "--project", "p", "--audience", ""], "--audience is empty"],
    [["--jwt-key", "k", "--jwt-issuer", "i", "--project", "p", "x"], 'unexpected argument "x"'],
    [["--role", "a b"], "--role takes up to 64 letters"],
  ])("exits with 2 for %j: %s", async (args, message) => {
    const { code, stderr } = await runRelay(["token", ...place("s"), ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe.concurrent("relay dial", () => {
  it("presents its certificate and a file's token, and renews the token before it expires", TIMES, async () => {
    const file = join(room.folder, "kept");
    start(["token", ...place("kept"), ...signer(), "--ttl", "30s", "--file", file]);
    const first = await until("the token", 60_000, () => readFile(file, "utf8").catch(() => undefined));
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    start(["dial", ...place("kept"), ...toRelay(), "--token-file", file, ...AGENT_COMMAND]);
    await coordinator.event("kept", "agent.connected");
    const end = Number(decodeToken(first.trim()).claims["exp"]) * 1000;
    await until("the end of the first token", 120_000, () => (Date.now() > end + 1000 ? true : undefined));
    await works("kept");
    const lines = room.relay.lines.filter((line) => line["session_id"] === "kept");
    expect(lines.map(({ action }) => action)).not.toContain("agent_disconnected");
    expect(room.relay.lines.map(({ action }) => action)).toContain("token_renewed");
  });

  it("signs its tokens itself", TIMES, async () => {
    start(["dial", ...place("signed"), ...toRelay(), ...signer(), ...AGENT_COMMAND]);
    await works("signed");
  });

  it("exits with 4 and the reason if the relay does not trust its token", async () => {
    const file = join(room.folder, "other");
    await writeFile(file, room.token());
    const { code, stderr } = await runRelay([
      "dial",
      ...place("s"),
      ...toRelay(),
      "--token-file",
      file,
      ...AGENT_COMMAND,
    ]);
    expect(code).toBe(4);
    expect(stderr).toMatch(/the relay refuses the connection with 403: "?the token is for another session/);
  });

  it.each<[readonly string[], string]>([
    [["--server", "wss://127.0.0.1:1"], "wss:// and --tls-dir go together"],
    [["--server", "ws://127.0.0.1:1", "--tls-dir", "d"], "wss:// and --tls-dir go together"],
    [["--server", "ws://127.0.0.1:1", "--token-file", "f"], "a token is sent over wss:// only"],
    [
      [
        ...["--server", "wss://127.0.0.1:1", "--tls-dir", "d", "--token-file", "f", "--jwt-key", "k", "--jwt-issuer"],
        "i",
      ],
      "a token needs all three",
    ],
    [["--server", "wss://127.0.0.1:1", "--tls-dir", "nowhere"], "cannot read nowhere/tls."],
  ])("exits with 2 for %j", async (args, message) => {
    const { code, stderr } = await runRelay(["dial", ...place("s"), ...args, ...AGENT_COMMAND]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});
