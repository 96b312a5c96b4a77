import { afterAll, beforeAll, expect, it } from "vitest";
import { SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { BridgeFolder, type RunningBridge } from "../support/bridge/bridge-folder.ts";
import { gt, gtInTerminal } from "../support/bridge/gt-transcript.ts";
import { eventually } from "../support/eventually.ts";

let folder: BridgeFolder;
let bridge: RunningBridge;
let env: Record<string, string>;
beforeAll(async () => {
  folder = await BridgeFolder.create();
  bridge = await folder.start();
  env = {
    ...{ PATH: process.env["PATH"] ?? "", HOME: folder.dir, GT_SERVER: `127.0.0.1:${bridge.port}` },
    ...{ GT_TLS_DIR: await folder.consumerFolder(folder.prd), GT_TOKEN: folder.token(folder.prd, { ttlMs: 290_000 }) },
  };
});
afterAll(() => folder[Symbol.asyncDispose]());

const run = (...args: string[]) => gt(args, env);
const start = (id: string, ...more: string[]) => run("start", "demo", folder.path("repos/one"), "-s", id, ...more);

it("gt answers a terminal session's dialog, presses its keys, attaches, and stops it", {
  timeout: 240_000,
}, async () => {
  expect(await start("t", "--mode", "terminal")).toMatchObject({ code: 0 });
  expect(JSON.parse((await run("status", "t", "--json")).stdout)).toMatchObject({ state: "idle" });
  await using attached = gtInTerminal(["attach", "t"], env, 100, 30);
  await eventually("the prompt", () => attached.seen().includes("Type a message"), 30_000);
  expect(await run("nudge", "t", "run: echo one", "--request-id", "n1")).toMatchObject({ code: 0 });
  expect(await run("wait", "t", "--for", "dialog", "--timeout", "60s")).toMatchObject({ code: 0 });
  expect((await run("respond", "t")).stdout).toContain("permission: Allow this command?\necho one\n");
  expect((await run("respond", "t", "perhaps")).code).toBe(2);
  expect((await run("nudge", "t", "in between")).code).toBe(6);
  expect(await run("respond", "t", "yes")).toMatchObject({ code: 0, stderr: "" });
  await run("wait", "t", "--for", "idle", "--timeout", "60s");
  expect((await run("respond", "t", "yes")).stderr).toContain("no dialog is open");
  const receipt = JSON.parse((await run("receipt", "t", "n1", "--json")).stdout);
  expect(receipt).toMatchObject({ request_id: "n1", outcome: "submitted" });
  expect((await run("receipt", "t", "n2")).code).not.toBe(0);
  expect((await run("cancel", "t", "n1")).code).not.toBe(0);
  expect(await run("keys", "t", "x")).toMatchObject({ code: 0 });
  attached.type("y");
  await eventually("what was typed", () => attached.seen().includes("y"), 30_000);
  expect((await run("status", "t")).stdout).toContain("1 attached");
  await using watching = gtInTerminal(["watch", "t", "--json"], env);
  await eventually("what is watched", () => watching.seen().includes('"kind":'), 30_000);
  expect(await run("stop", "t", "--force")).toMatchObject({ code: 0, stdout: "✓ stopped prd-manager/t\n" });
  expect(await attached.exited).toBe(0);
  await watching.exited;
  expect(watching.seen()).toContain('"kind":"end"');
  expect(await run("peek", "t")).toMatchObject({ code: 0, stdout: expect.stringContaining("> xy") });
  expect(await run("status", "t")).toMatchObject({ code: 0, stdout: expect.stringContaining("dead") });
  expect(await run("nudge", "t", "hello")).toMatchObject({ code: 6 });
});

it("gt shows a session without a terminal from its events", { timeout: 180_000 }, async () => {
  expect(await start("s")).toMatchObject({ code: 0 });
  const watching = run("watch", "s");
  expect(await run("nudge", "s", "hello there", "--request-id", "n1")).toMatchObject({ code: 0, stderr: "" });
  const receipt = JSON.parse((await run("receipt", "s", "n1", "--json")).stdout);
  expect(receipt).toMatchObject({ request_id: "n1", outcome: "submitted", evidence: [{ source: "output" }] });
  expect(await run("receipt", "s", "n2")).toMatchObject({ code: 3, stderr: expect.stringContaining('id "n2"') });
  expect(await run("wait", "s", "--for", "idle", "--timeout", "60s")).toMatchObject({
    code: 0,
    stdout: "prd-manager/s is idle\n",
  });
  const peeked = await run("peek", "s");
  expect(peeked.stdout).toMatch(/^> hello there\n.+\n/);
  expect((await run("peek", "s", "1")).stdout).toBe(`${peeked.stdout.trimEnd().split("\n").at(-1)}\n`);
  expect(JSON.parse((await run("status", "s", "--json")).stdout)).toMatchObject({ state: "idle", alive: true });
  for (const args of [
    ["keys", "s", "Enter"],
    ["cancel", "s", "n1"],
  ])
    expect(await gt(args, env)).toMatchObject({ code: 2, stderr: expect.stringContaining("has no terminal") });
  expect(await run("stop", "s")).toMatchObject({ code: 0 });
  const watched = await watching;
  expect(watched.stdout).toBe(peeked.stdout);
  expect(watched.stderr).toBe("gt: note: the terminal ended: the session ended\n");
  expect(await run("nudge", "s", "too late")).toMatchObject({ code: 6, stderr: expect.stringContaining("is stopped") });
  const { status } = await folder.client(bridge, folder.prd).getSession({ sessionId: "s" });
  expect(status).toBe(SessionStatus.STOPPED);
});

it("gt reports why a session ended that was lost with its bridge", { timeout: 240_000 }, async () => {
  const why = "the bridge ended during the session, and the agent ended with it";
  expect(await start("lost")).toMatchObject({ code: 0 });
  bridge.process.kill("SIGKILL");
  await bridge.exited;
  bridge = await folder.start();
  env = { ...env, GT_SERVER: `127.0.0.1:${bridge.port}` };
  const [status, json, idle, dead, watched, nudged] = await Promise.all([
    run("status", "lost"),
    run("status", "lost", "--json"),
    run("wait", "lost", "--for", "idle", "--timeout", "60s"),
    run("wait", "lost", "--for", "dead", "--timeout", "60s"),
    run("watch", "lost"),
    run("nudge", "lost", "hello"),
  ]);
  expect(status).toMatchObject({ code: 0, stdout: expect.stringContaining(`reason      ${why}`) });
  expect(JSON.parse(json.stdout)).toMatchObject({ state: "dead", alive: false, reason: why });
  expect(idle).toMatchObject({ code: 5, stderr: expect.stringContaining(why) });
  expect(dead).toMatchObject({ code: 0, stdout: `lost is dead: ${why}\n` });
  expect(watched).toMatchObject({ code: 4, stderr: expect.stringContaining(`the session has failed: ${why}`) });
  expect(nudged).toMatchObject({ code: 6, stderr: expect.stringContaining(why) });
});
