import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { RelayProcess, runRelay } from "../support/relay/relay-process.ts";
import { runMerged } from "../support/run-to-end.ts";
import { until } from "../support/sidecar/sidecar.ts";

let folder: string;
let nats: NatsServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-start-"));
  nats = await NatsServer.start(await oldestNats());
});
afterAll(async () => {
  await nats?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

// It starts five programs, which takes minutes on a busy machine.
const TOUR = { timeout: 300_000 };

it("npm start -- --relay --once completes a coding task and exits with 0", TOUR, async () => {
  const main = fileURLToPath(new URL("../../scripts/start/main.ts", import.meta.url));
  const { code, output } = await runMerged(process.execPath, [main, "--relay", "--once"]);
  expect(output).toContain('"type":"result.success"');
  expect(output).toContain("all as expected");
  expect(code, output).toBe(0);
});

it(
  "npm start -- --relay admits only readers of its key file to NATS, and prints commands that use it",
  TOUR,
  async () => {
    const main = fileURLToPath(new URL("../../scripts/start/main.ts", import.meta.url));
    const tour = spawn(process.execPath, [main, "--relay"], { stdio: ["ignore", "pipe", "inherit"] });
    const gone = once(tour, "close");
    try {
      let printed = "";
      tour.stdout.setEncoding("utf8").on("data", (text: string) => {
        printed += text;
      });
      const [command = "", url = "", key = ""] = await until("the commands", 240_000, () => {
        return /^ {2}(node .* status --nats-url (\S+) --nats-nkey (\S+))$/m.exec(printed)?.slice(1);
      });
      expect((await stat(key)).mode & 0o777).toBe(0o600);
      expect((await stat(dirname(key))).mode & 0o777).toBe(0o700);
      const shown = await runMerged("/bin/sh", ["-c", command]); // on the Node of this machine, which may be older
      expect(shown.output).toContain("sess_123");
      expect(shown.code).toBe(0);
      const other = await runRelay(["send", "--session", "sess_123", "--role", "coding", "--nats-url", url, "x"]);
      expect(other.stderr).toContain("NATS");
      expect(other.code).toBe(4);
    } finally {
      tour.kill("SIGTERM");
      await gone;
    }
  },
);

describe("relay check", () => {
  it("reports every fault of the file with its line, and exits with 2", async () => {
    const path = await file("wrong.yaml", "lisen: 127.0.0.1:1\nnats:\n  replicas: 2\nturns:\n  deadline: soon\n");
    const { code, stderr } = await runRelay(["check", "--config", path]);
    expect(stderr).toContain("wrong.yaml:1: lisen: is not known here; did you mean listen?");
    expect(stderr).toContain("wrong.yaml:3: nats.replicas: must be 1 or 3");
    expect(stderr).toContain("wrong.yaml:5: turns.deadline: must be a duration");
    expect(code).toBe(2);
  });

  it("accepts the documentation's file", async () => {
    const path = await file(
      "good.yaml",
      "listen: 127.0.0.1:0\nroles:\n  coding: { max_tokens: 5, tools: [{ name: x }] }\n",
    );
    expect(await runRelay(["check", "-c", path])).toMatchObject({ code: 0, stdout: `${path}: ok\n` });
  });

  it.each<[readonly string[], Readonly<Record<string, string>>, string]>([
    [["serve", "--listn", "x"], {}, "unknown flag --listn"],
    [["srve"], {}, 'unknown command "srve"'],
    [["--listen", "0.0.0.0:0"], {}, "cannot serve 0.0.0.0 in plaintext"],
    [["send", "--role", "coding", "x"], {}, "--session is missing"],
    [["send", "--session", "a b", "--role", "coding", "x"], {}, "--session takes up to 64"],
    [["check"], { OUROCODUS_RELAY_PORT: "x" }, 'OUROCODUS_RELAY_PORT takes a port, from 0 to 65535, not "x"'],
    [["check"], { OUROCODUS_PING_INTERVAL: "soon" }, "needs seconds"],
  ])("exits with 2 for %j with %j", async (args, env, text) => {
    const { code, stderr } = await runRelay(args, env);
    expect(stderr).toContain(text);
    expect(code).toBe(2);
  });
});

describe("the relay with an unsuitable NATS", () => {
  it("exits with 6 if a stream has other settings, and names both values", async () => {
    await using first = await RelayProcess.start(nats.url);
    expect(await first.stop()).toBe(0);
    const path = await file("three.yaml", "nats: { replicas: 3 }\n");
    const second = RelayProcess.spawn(nats.url, { args: ["--config", path] });
    expect(await second.exited()).toBe(6);
    expect(second.log).toContain("the stream RELAY_WORK has other settings: num_replicas: 1, not 3");
  });

  it("ends commands with 4 if the streams are missing or NATS cannot be reached", async () => {
    const place = ["--session", "s", "--role", "r"];
    const none = await runRelay(["send", ...place, "--nats-url", nats.url, "--stream-prefix", "OTHER", "x"]);
    expect(none.stderr).toContain("NATS has no stream OTHER_WORK");
    expect(none.code).toBe(4);
    const away = await runRelay(["results", ...place, "--nats-url", "nats://127.0.0.1:1"]);
    expect(away.stderr).toContain("cannot reach NATS at nats://127.0.0.1:1");
    expect(away.code).toBe(4);
  });

  it("reads its port, NATS address and heartbeat from the environment", async () => {
    const env = {
      ...{ OUROCODUS_NATS_URL: nats.url, OUROCODUS_PING_INTERVAL: "5", OUROCODUS_PONG_TIMEOUT: "2s" },
    };
    expect(await runRelay(["check"], env)).toMatchObject({ code: 0 });
    expect(await runRelay(["dead", "ls"], env)).toMatchObject({ code: 0, stdout: "" });
  });
});
