import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { spawn as spawnPty } from "@lydell/node-pty";
import { afterEach, beforeEach, expect, it } from "vitest";
import { systemClock } from "../../internal/base/clock.ts";
import { runToEnd } from "../support/run-to-end.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const launch = [join(root, "scripts/launch.mjs"), "scripts/start/main.ts"];

/** Shows the cursor, and the screen from before. */
const LEAVE = "\x1b[?25h\x1b[?1049l";

let dir: string;
let env: NodeJS.ProcessEnv;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-e2e-"));
  env = { ...process.env, XDG_RUNTIME_DIR: dir, TMPDIR: dir, INIT_CWD: dir };
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** The running programs that were started with this test's folder in their environment. */
async function stillRunning(): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)) {
    const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
    if (environment.includes(`XDG_RUNTIME_DIR=${dir}\0`))
      found.push(await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => pid));
  }
  return found;
}

async function expectNothingLeft(): Promise<void> {
  const deadline = performance.now() + 5000;
  while ((await stillRunning()).length > 0 && performance.now() < deadline) await systemClock.sleep(50);
  expect(await stillRunning()).toEqual([]);
  const left = await readdir(dir);
  expect(left.filter((name) => name !== "gt-sidecars" && name !== "node-compile-cache")).toEqual([]);
  if (left.includes("gt-sidecars")) expect(await readdir(join(dir, "gt-sidecars"))).toEqual([]);
}

it("--once peeks, nudges, peeks, prints the status, and leaves nothing running, even when two run at the same time", async () => {
  const start = () => run(process.execPath, [...launch, "--once"], { env });
  const [{ stdout }, other] = await Promise.all([start(), start()]);
  expect(other.stdout).toMatch(/all as expected\n$/);
  expect(stdout).toMatch(/^── peek demo .*\n│ Demo agent\n/m);
  expect(stdout).toMatch(/^── nudge demo "hello from npm start.*\n\d\d:\d\d:\d\d {2}SUBMITTED /m);
  expect(stdout).toMatch(/^│ > hello from npm start/m);
  expect(stdout).toMatch(/^── status demo\nidle, up [\d.]+ s/m);
  expect(stdout).toMatch(/all as expected\n$/);
  expect(stdout).not.toContain("\x1b");
  await expectNothingLeft();
});

it("without a terminal it prints commands that run unchanged, and ends on SIGTERM", async () => {
  const child = spawn(process.execPath, launch, { env, stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  try {
    await until(() => output.includes("Ctrl-C ends it"));
    const nudge = /^ {2}(\S+ nudge demo) "hello"$/m.exec(output)?.[1];
    // From another folder, through a shell, with only the printed text.
    const answer = await run("sh", ["-c", `${nudge} "from the printed command"`], { env, cwd: "/" });
    expect(answer.stdout).toContain("submitted to demo");
    const peek = await run("sh", ["-c", `${nudge?.replace(" nudge ", " peek ")}`], { env, cwd: "/" });
    expect(peek.stdout).toContain("> from the printed command");
  } finally {
    child.kill("SIGTERM");
    await closed;
  }
  expect(child.exitCode).toBe(143);
  await expectNothingLeft();
});

it("in a terminal it shows the agent live with its receipts, and restores the terminal on q and while it is stopped", async () => {
  const terminal = spawnPty(process.execPath, launch, {
    cols: 100,
    rows: 40,
    cwd: root,
    env: { ...env, TERM: "xterm-256color" },
  });
  let output = "";
  terminal.onData((text) => {
    output += text;
  });
  const exited = new Promise<number>((resolve) => terminal.onExit(({ exitCode }) => resolve(exitCode)));
  try {
    await until(() => output.includes("Type a message") && output.includes("In another terminal"));
    expect(output).toContain("\x1b[?1049h");
    await run(join(root, "cmd/gt/gt"), ["nudge", "demo", "shown live"], { env, cwd: "/" });
    await until(() => output.includes("> shown live") && output.includes("SUBMITTED"));
    process.kill(terminal.pid, "SIGTSTP");
    await until(() => output.endsWith(LEAVE));
    output = "";
    process.kill(terminal.pid, "SIGCONT");
    await until(() => output.includes("> shown live") && output.includes("SUBMITTED"));
    expect(output).toContain("\x1b[?1049h");
    terminal.write("q");
    expect(await exited, output.slice(-1000)).toBe(0);
  } finally {
    terminal.kill("SIGTERM");
    await exited;
  }
  expect(output.endsWith(LEAVE)).toBe(true);
  await expectNothingLeft();
});

it.each([
  ["npm start", [], "Type a message"],
  ["npm start -- --bridge", ["--bridge"], "BridgeService/StreamEvents"], // the end of its output: it writes nothing later
])(
  "%s ends when its terminal vanishes without sending it a signal, and leaves nothing behind",
  async (_, flags, seen) => {
    const options = { cols: 100, rows: 40, cwd: root, env: { ...env, TERM: "xterm-256color" } };
    // In a session of its own it gets no signal when the terminal ends.
    const terminal = spawnPty("setsid", ["-w", process.execPath, ...launch, ...flags], options);
    let output = "";
    terminal.onData((text) => {
      output += text;
    });
    const exited = new Promise<void>((resolve) => terminal.onExit(() => resolve()));
    await until(
      () => output.includes(seen),
      () => output.slice(-500),
    );
    // The types of node-pty omit this method. It closes the terminal; `kill` only sends a signal.
    (terminal as typeof terminal & { destroy(): void }).destroy();
    await exited;
    await until(async () => (await stillRunning()).length === 0);
    await expectNothingLeft();
  },
);

it("ends when its output cannot be written or is no longer read, and leaves nothing behind", async () => {
  await using full = await open("/dev/full", "w");
  const unread = spawn(process.execPath, launch, { env, stdio: ["ignore", "pipe", "ignore"] });
  const unwritten = spawn(process.execPath, launch, { env, stdio: ["ignore", full.fd, "ignore"] });
  const closed = [unread, unwritten].map((child) => once(child, "exit"));
  unread.stdout?.once("data", () => unread.stdout?.destroy());
  await Promise.all(closed);
  expect([unread, unwritten].map(({ exitCode, signalCode }) => exitCode === 0 && signalCode === null)).toEqual([
    false,
    false,
  ]);
  await until(async () => (await stillRunning()).length === 0);
  await expectNothingLeft();
});

it("exits with 4 without tmux, and says how to install it", async () => {
  const alone = { ...env, PATH: dir };
  const failed = await runToEnd(process.execPath, [...launch, "--once"], { env: alone });
  expect(failed).toMatchObject({ code: 4, stderr: expect.stringContaining("brew install tmux") });
});

it.each([["--once"], ["--bridge", "--once"], ["--relay", "--once"]])(
  "reports a missing folder for temporary files: npm start -- %s",
  async (...flags) => {
    const missing = { ...env, TMPDIR: join(dir, "none") };
    const failed = await runToEnd(process.execPath, [...launch, ...flags], { env: missing });
    expect(failed).toMatchObject({
      code: 4,
      stderr: `start: error: cannot make a folder in ${join(dir, "none")}: there is no such folder\nstart: hint: set TMPDIR to a folder of your own with room in it\n`,
    });
  },
);

it("exits with 4 if Claude Code is not installed, and says how to install it", async () => {
  const alone = { ...env, PATH: dir };
  const failed = await runToEnd(process.execPath, [...launch, "--agent", "claude"], { env: alone });
  expect(failed).toMatchObject({
    code: 4,
    stderr: expect.stringContaining("npm install --global @anthropic-ai/claude-code"),
  });
});

it("shows the last screen of an agent that fails, and exits with its code", async () => {
  // tmux may miss what a program prints just before it ends: see docs/protocols/events.md, "Events".
  const agent = "#!/bin/sh\necho no network today\nsleep 0.5\nexit 3\n";
  await writeFile(join(dir, "claude"), agent, { mode: 0o755 });
  const path = [dir, env["PATH"] ?? ""].join(delimiter);
  const options = { env: { ...env, PATH: path } };
  const failed = await runToEnd(process.execPath, [...launch, "--agent", "claude"], options);
  expect(failed).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(/the agent ended with 3\nno network today\n$/),
  });
  await rm(join(dir, "claude"));
  await expectNothingLeft();
});

async function until(condition: () => boolean | Promise<boolean>, about = () => ""): Promise<void> {
  const deadline = performance.now() + 110_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`timed out ${about()}`);
    await systemClock.sleep(20);
  }
}
