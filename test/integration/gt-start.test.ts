import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { BridgeScene } from "../support/bridge/bridge-scene.ts";
import { gt, gtInTerminal } from "../support/bridge/gt-transcript.ts";
import { eventually } from "../support/eventually.ts";

const { STARTING, RUNNING, FAILED } = SessionStatus;

let scene: BridgeScene;
let env: Record<string, string>;
let trust: string[];
beforeAll(async () => {
  scene = await BridgeScene.create();
  const home = join(scene.dir, "home");
  await mkdir(home);
  env = { PATH: process.env["PATH"] ?? "", HOME: home, USER: "ann", GT_SERVER: `127.0.0.1:${scene.server.port}` };
  const signed = ["--jwt-key", scene.files.privateKeyPath, "--jwt-issuer", "prd-manager", "--project", "p1"];
  trust = ["--tls-dir", join(scene.dir, "client"), ...signed];
});
afterAll(() => scene[Symbol.asyncDispose]());

const start = (id: string, ...more: string[]) => gt(["start", "demo", "/repos/a", "-s", id, ...more, ...trust], env);

const looks = () => scene.bridge.calls.filter((name) => name === "getSession").length;

it("gt start waits until the new session's agent takes messages", async () => {
  scene.bridge.startsAs = { status: STARTING };
  const before = looks();
  const started = start("slow");
  await eventually("it is looked at again and again", () => looks() > before + 3, 30_000);
  scene.bridge.becomes("slow", { status: RUNNING });
  expect(await started).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining(", running\n") });
});

it("gt start does not wait with --no-wait", async () => {
  scene.bridge.startsAs = { status: STARTING };
  expect(await start("free", "--no-wait")).toMatchObject({ code: 0, stdout: expect.stringContaining(", starting\n") });
});

it("gt start reports at its time limit why the agent takes no messages yet, and prints the id for scripts", async () => {
  scene.bridge.startsAs = { status: STARTING, error: "no node accepts the pod" };
  const late = await start("late", "--timeout", "300ms", "-q");
  expect(late).toMatchObject({ code: 5, stdout: "late\n" });
  expect(late.stderr).toMatch(
    /error: session late takes no messages after 300 ?ms: no node accepts the pod\ngt: hint: it continues: gt wait late/,
  );
});

it("gt start ends with the reason of a session that fails while it starts", async () => {
  scene.bridge.startsAs = { status: STARTING };
  const started = start("broken");
  await eventually("it is there", () => scene.bridge.has("broken"), 30_000);
  const error = "its pod mounts the Secret git-credentials, which is not in namespace agents";
  scene.bridge.becomes("broken", { status: FAILED, reason: "FailedMount", error });
  const { code, stderr } = await started;
  expect(code).toBe(6);
  expect(stderr).toBe(
    `gt: error: session broken could not be started: ${error}\ngt: hint: it is kept; gt stop broken removes it\n`,
  );
});

it("gt start leaves the session running when its wait is interrupted, and says so", async () => {
  scene.bridge.startsAs = { status: STARTING };
  const before = looks();
  await using waiting = gtInTerminal(["start", "demo", "/repos/a", "-s", "left", ...trust], env, 200);
  await eventually("it waits", () => looks() > before + 2, 30_000);
  waiting.type("\x03");
  await waiting.exited;
  expect(waiting.seen()).toContain("session left was started and continues; gt stop left ends it");
});
