import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { calmTime } from "../support/calm-time.ts";
import { programFile } from "../support/programs.ts";
import { runToEnd } from "../support/run-to-end.ts";
import { DemoSidecar } from "../support/threads/demo-sidecar.ts";
import { runbookCommands } from "../support/threads/runbook-commands.ts";
import { startThread, ThreadsServer } from "../support/threads/threads-server.ts";

const AGENT = "shop/fixer";
const NEVER = new AbortController().signal;

let server: ThreadsServer;
let agent: DemoSidecar;
let bin = "";
let thread = "";
const all = await runbookCommands();

beforeAll(async () => {
  server = await ThreadsServer.start("--postgres", "system");
  bin = join(server.dir, "bin");
  await mkdir(bin);
  for (const name of ["gt", "threads"] as const) {
    const line = `exec ${process.execPath} ${programFile(name)} "$@"`;
    await writeFile(join(bin, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  }
  agent = await DemoSidecar.start(AGENT, server);
  using ann = server.client("ann", "operator");
  thread = await startThread(ann, "the cart", [AGENT, "shop/reviewer"], NEVER);
});
afterAll(async () => {
  await agent?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

/** Runs the commands of a section as printed, one after the other; returns what each has said. */
async function run(heading: string, more: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  return await runAll(all.get(heading) ?? [], more);
}

async function runAll(commands: readonly string[], more: Readonly<Record<string, string>>): Promise<readonly string[]> {
  expect(commands.length).toBeGreaterThan(0);
  const said: string[] = [];
  for (const command of commands) {
    const variables = { T: thread, A: AGENT, S: "s-leaked", ...more };
    const env = { ...server.env, PATH: `${bin}:${server.env["PATH"]}`, ...variables };
    const { code, stdout, stderr } = await runToEnd("sh", ["-c", command], {
      env,
      cwd: server.dir,
      timeoutMs: 120_000,
    });
    // 5: accepted, but not completed yet.
    expect([0, 5], `${command}\n${stdout}${stderr}`).toContain(code);
    said.push(stdout);
  }
  return said;
}

it("the runbook covers each kind of trouble, and every section has commands", () => {
  expect([...all].map(([heading, commands]) => [heading, commands.length > 0])).toEqual([
    ["", true],
    ["Agents go round in circles", true],
    ["A wake is stuck", true],
    ["A token has leaked", true],
    ["The database is away", false],
    ["The database is lost, or restored", true],
    ["A server does not start, or is down", true],
  ]);
});

it("it looks first at the server, the wakes and the escalations", async () => {
  const [doctor] = await run("");
  expect(doctor).not.toContain("FAIL");
});

it("it unblocks a thread that the loop guard has blocked", async () => {
  using worker = server.client("shop/reviewer");
  for (let i = 0; i < 3; i++) await worker.call("post_message", { thread_id: thread, text: "same again" }, NEVER);
  const [shown] = await run("Agents go round in circles");
  expect(shown).toContain("loop_blocked");
  const { thread: after } = await worker.call("get_thread", { thread_id: thread }, NEVER);
  expect(after).toMatchObject({ status: "active" });
});

it("it shows what a wake waits for, and wakes the agent", async () => {
  const [, peeked, woken] = await run("A wake is stuck");
  expect(peeked).not.toBe("");
  expect(woken).toContain(AGENT);
});

it("it revokes a leaked token", async () => {
  using leaked = server.client("shop/leaked");
  await leaked.call("whoami", {}, NEVER);
  await run("A token has leaked", { S: "s-shop-leaked" });
  const fate = () => leaked.call("whoami", {}, NEVER).catch((err: { kind?: string }) => err.kind);
  const sinceMs = calmTime();
  await expect.poll(fate).toBe("unauthenticated");
  expect(sinceMs()).toBeLessThan(5000);
});

it("it imports an export into an empty database, whose chains then verify", async () => {
  const commands = all.get("The database is lost, or restored") ?? [];
  const fresh = join(server.dir, "restored");
  const read = (env: Readonly<Record<string, string>>) => runAll(["gt threads read $T --json"], env);
  const before = await read({});
  await runAll(commands.slice(0, -1), { NEW: fresh });
  const place = { GT_THREADS_STATE_DIR: fresh };
  await using _restored = await server.beside(place, []);
  const [verified] = await runAll(commands.slice(-1), place);
  expect(verified).toMatch(/^\d+ rows checked, none broken\n$/);
  expect(before[0]).toContain("same again");
  expect(await read(place)).toEqual(before);
});
