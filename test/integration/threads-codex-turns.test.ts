import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { CodexRunner, type CodexRunnerOptions } from "../../cmd/threads/codex-runner.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { processLives } from "../../internal/process/process-lives.ts";
import type { TakenConversation } from "../../internal/threads/domain/runtimes.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake-clock.ts";

const ID = randomUUID();
const THERE_MS = 60_000;
const SECRETS = {
  ...{ GT_THREADS_DATABASE_URL: "postgres://u:secret@db/t", GT_THREADS_STATE_DIR: "/secret", PGPASSWORD: "secret" },
  ...{ PGHOST: "secret", DATABASE_URL: "secret", AWS_SECRET_ACCESS_KEY: "secret", GT_BRIDGE_CONFIG: "secret" },
};
/** A program that notes how it was called, then does what the file `act` says. */
const PROGRAM = (dir: string) => `#!/bin/sh
cd '${dir}/notes' && printf '%s\\n' "$OLDPWD" > cwd && env > env && printf '%s\\0' "$@" > args
cp "$GT_THREADS_TOKEN_FILE" token && stat -c %a "$GT_THREADS_TOKEN_FILE" "\${GT_THREADS_TOKEN_FILE%/*}" > modes
cat > stdin
. ./act
`;

let dir = "";
beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), "gt-turns-")));
  const day = join(dir, "codex", "sessions", "2026", "11", "28");
  for (const path of [day, join(dir, "work"), join(dir, "bin"), join(dir, "notes")])
    await mkdir(path, { recursive: true });
  const meta = { type: "session_meta", payload: { id: ID, cwd: join(dir, "work") } };
  await writeFile(join(day, `rollout-1-${ID}.jsonl`), `${JSON.stringify(meta)}\n`);
  await writeFile(join(dir, "bin", "codex"), PROGRAM(dir), { mode: 0o755 });
  await does("exit 0");
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const does = (act: string) => writeFile(join(dir, "notes", "act"), act);
const noted = (name: string) => readFileSync(join(dir, "notes", name), "utf8");
const tokens = () => readdirSync(join(dir, "turns"));
const runner = (more: Partial<CodexRunnerOptions> = {}) =>
  CodexRunner.open({
    clock: systemClock,
    env: {
      ...SECRETS,
      PATH: `${join(dir, "bin")}:/usr/bin:/bin`,
      CODEX_HOME: join(dir, "codex"),
      HOME: dir,
      TZ: "UTC",
    },
    ...{ workspace: "shop", folder: join(dir, "turns"), server: async () => ({ GT_THREADS: "http://127.0.0.1:1" }) },
    mint: ({ agent, role, sessionId }, ttlMs) => `token of ${agent} ${role} ${sessionId} ${ttlMs}`,
    ...more,
  });
async function take(from: CodexRunner): Promise<TakenConversation> {
  const taken = await from.take("shop", ID);
  if (taken === undefined || taken === "busy") throw new Error(`the conversation is ${taken ?? "not there"}`);
  return taken;
}
const turn = (text = "[threads w-1-1] 1 new") => ({ agent: "town/coder", role: "fixer", sessionId: "w-1-1", text });
const pids = () => noted("pids").trim().split(/\s+/).map(Number);
/** A turn that ignores TERM, with a child in its process group and one outside. */
const LONG_TURN = "trap '' TERM; sleep 1001 & a=$!; setsid sleep 1002 & echo $$ $a $! > p; mv p pids; wait; wait";
const hasBegun = () => eventually("the turn has begun", () => existsSync(join(dir, "notes", "pids")), THERE_MS);
const allEnded = () => pids().every((pid) => !processLives(pid));

it("gets the text as its input, its folder, a token of its own, and none of the server's secrets", async () => {
  await using taken = await take(await runner());
  const text = "-c sandbox_mode=danger $(touch x); `id`";
  const receipt = await taken.run(turn(text), AbortSignal.timeout(THERE_MS));
  expect(receipt).toMatchObject({ outcome: "submitted", evidence: [{ value: "codex exec exited with 0" }] });
  const args = noted("args").split("\0").slice(0, -1);
  expect([args.slice(0, 2), args.slice(-4)]).toEqual([
    ["exec", "--skip-git-repo-check"],
    ["resume", "--", ID, "-"],
  ]);
  expect(noted("stdin")).toBe(text);
  expect(noted("cwd")).toBe(`${join(dir, "work")}\n`);
  expect([noted("token"), noted("modes")]).toEqual([`token of town/coder fixer w-1-1 660000`, "600\n700\n"]);
  const names = noted("env").split("\n").slice(0, -1);
  expect(names.filter((line) => line.startsWith("GT_")).map((line) => line.split("=")[0])).toEqual(
    expect.arrayContaining(["GT_AGENT_SESSION", "GT_THREADS", "GT_THREADS_TOKEN_FILE"]),
  );
  expect(noted("env")).toContain(`CODEX_HOME=${join(dir, "codex")}\n`);
  for (const name of Object.keys(SECRETS)) expect(noted("env")).not.toContain(`${name}=`);
  expect(noted("env") + args.join()).not.toContain("secret");
  expect(args.join()).not.toContain("token of");
  expect(tokens()).toEqual([]);
});

it.each([
  ["exit 0", "submitted", "codex exec exited with 0"],
  ["exit 1", "cancelled", "codex exec exited with 1"],
  ["for f in ../codex/sessions/*/*/*/*; do echo {} >> $f; done; exit 1", "unknown", "codex exec exited with 1"],
  ["exit 101", "unknown", "codex exec exited with 101"],
  ["kill -9 $$", "unknown", "codex exec was ended by SIGKILL"],
])("after %s is %s", async (act, outcome, value) => {
  await does(`echo the text of the turn >&2; ${act}`);
  await using taken = await take(await runner());
  const receipt = await taken.run(turn(), AbortSignal.timeout(THERE_MS));
  expect(receipt).toEqual({ outcome, error: "", evidence: [{ source: "process", value, confidence: "certain" }] });
  expect(tokens()).toEqual([]);
});

it("is taken back when the program cannot be started", async () => {
  await writeFile(join(dir, "bin", "codex"), "#!/nowhere/sh\n");
  await using taken = await take(await runner());
  expect(await taken.run(turn(), AbortSignal.timeout(THERE_MS))).toMatchObject({ outcome: "cancelled", evidence: [] });
  expect(tokens()).toEqual([]);
});

it.each([
  ["empty", ""],
  ["too long", "x".repeat(70_000)],
  ["of two strings", "a\0b"],
])("is not given a text that is %s", async (_, text) => {
  await using taken = await take(await runner());
  expect(await taken.run(turn(text), AbortSignal.timeout(THERE_MS))).toMatchObject({ outcome: "unsafe" });
  expect(existsSync(join(dir, "notes", "args"))).toBe(false);
});

it("ends with all that it has started when the server stops", async () => {
  await does(LONG_TURN);
  await using taken = await take(await runner());
  const stop = new AbortController();
  const running = taken.run(turn(), stop.signal);
  await hasBegun();
  expect(tokens()).toEqual(["w-1-1"]);
  stop.abort(new Error("the server stops"));
  await expect(running).rejects.toThrow("the server stops");
  expect([allEnded(), tokens()]).toEqual([true, []]);
});

it("leaves nothing running after its end", async () => {
  await does(LONG_TURN.replace("wait; wait", "exit 0"));
  await using taken = await take(await runner());
  expect(await taken.run(turn(), AbortSignal.timeout(THERE_MS))).toMatchObject({ outcome: "submitted" });
  expect(allEnded()).toBe(true);
});

it("ends after ten minutes", async () => {
  await does(LONG_TURN);
  const clock = new FakeClock();
  await using taken = await take(await runner({ clock }));
  let receipt: unknown;
  const running = taken.run(turn(), AbortSignal.timeout(THERE_MS)).then((end) => (receipt = end));
  await hasBegun();
  await clock.advance(599_000);
  expect([receipt, allEnded()]).toEqual([undefined, false]);
  while (receipt === undefined) await Promise.all([clock.advance(500), pause(5)]);
  await running;
  expect(receipt).toMatchObject({
    ...{ outcome: "unknown", evidence: [{ value: "codex exec took longer than 10 minutes" }] },
  });
  expect([allEnded(), tokens()]).toEqual([true, []]);
});

it("is one at a time, whichever server takes it", async () => {
  const [one, other] = [await runner(), await runner({ folder: join(dir, "others") })];
  const taken = await take(one);
  expect([await one.take("shop", ID), await other.take("shop", ID)]).toEqual(["busy", "busy"]);
  await taken[Symbol.asyncDispose]();
  await using next = await take(other);
  expect(next).toBeDefined();
});

it("is not taken for another workspace, without a program, or by a relative path to one", async () => {
  const env = { PATH: "/usr/bin:/bin", CODEX_HOME: join(dir, "codex") };
  expect(await (await runner()).take("bank", ID)).toBeUndefined();
  expect(await (await runner({ env })).take("shop", ID)).toBeUndefined();
  expect(await (await runner({ env: { ...env, PATH: "bin:." } })).take("shop", ID)).toBeUndefined();
});

it("finds no token of a server that was killed, and removes none of a turn that runs", async () => {
  await does(LONG_TURN);
  const first = await runner();
  await writeFile(join(dir, "turns", "w-0-1"), "left");
  await runner();
  expect(tokens()).toEqual([]);
  await using taken = await take(first);
  const stop = new AbortController();
  const running = taken.run(turn(), stop.signal).catch(() => {});
  await hasBegun();
  await runner();
  expect(tokens()).toEqual(["w-1-1"]);
  stop.abort();
  await running;
  await chmod(join(dir, "turns"), 0o755);
  await expect(runner()).rejects.toMatchObject({ kind: "denied" });
});
