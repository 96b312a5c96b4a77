import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import type { FileState } from "../../agents/profile.ts";
import { profileNamed } from "../../agents/programs/registry.ts";
import type { ProcessFacts } from "../../process/process-facts.ts";
import { AgentFileReader } from "./agent-file.ts";

const PID = 7;

let home: string;
let clock: FakeClock;
let reported: (FileState | undefined)[];
let facts: ProcessFacts | undefined;
let asked: number[];
let open: readonly string[];
let printedAt: number;
let sessions: string[];
let stop: AbortController;
let running: Promise<void>;

function reader(agent: "claude" | "codex"): Promise<void> {
  const deps = {
    ...{ clock, profile: profileNamed(agent), pid: () => PID },
    process: async (pid: number) => {
      asked.push(pid);
      return facts;
    },
    onState: (state: FileState | undefined) => void reported.push(state),
    files: async () => open,
    lastOutputAt: () => printedAt,
    onSession: (id: string) => void sessions.push(id),
  };
  return new AgentFileReader(deps, { home, strict: true }).run(stop.signal);
}

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "gt-agent-file-"));
  mkdirSync(join(home, ".claude/sessions"), { recursive: true });
  clock = new FakeClock();
  reported = [];
  asked = [];
  facts = { startTicks: 4000 };
  [open, printedAt, sessions] = [[], 0, []];
  stop = new AbortController();
  running = reader("claude");
});
afterEach(async () => {
  stop.abort();
  await running;
  rmSync(home, { recursive: true });
});

const write = (status: string, procStart: number) =>
  writeFileSync(join(home, `.claude/sessions/${PID}.json`), JSON.stringify({ pid: PID, status, procStart }));

/** Lets it look this many times, and awaits each look. */
async function look(times: number): Promise<void> {
  const atRest = async () => {
    while (clock.sleeping === 0) await settle();
  };
  for (let i = 0; i < times; i++) {
    await atRest();
    await clock.advance(100);
    await atRest();
  }
}

it("reports what the agent wrote, and checks its process only if the file has changed", async () => {
  write("busy", 4000);
  await look(5);
  expect([reported, asked]).toEqual([[{ type: "busy" }], [PID]]);
});

it("ignores an earlier process that had the same pid", async () => {
  write("idle", 3999);
  await look(3);
  expect(reported).toEqual([undefined]);
});

it("reports nothing until the process is known, and the content then", async () => {
  facts = undefined;
  write("idle", 4000);
  await look(3);
  expect(reported).toEqual([]);
  facts = { startTicks: 4000 };
  await look(2);
  expect(reported).toEqual([{ type: "idle", background: "none" }]);
});

it.each([
  ["a folder", (path: string) => mkdirSync(path)],
  ["a FIFO without a writer", (path: string) => execFileSync("mkfifo", [path])],
  ["a link to an endless device", (path: string) => symlinkSync("/dev/zero", path)],
  ["above the size limit", (path: string) => writeFileSync(path, " ".repeat(65 * 1024))],
])("ignores a file that is %s, and reads the next one", async (_, put) => {
  const path = join(home, `.claude/sessions/${PID}.json`);
  put(path);
  await look(3);
  expect(reported).toEqual([]);
  rmSync(path, { recursive: true });
  write("busy", 4000);
  await look(3);
  expect(reported).toEqual([{ type: "busy" }]);
});

it("treats an unreadable home folder as one without the file", async () => {
  write("busy", 4000);
  await look(2);
  rmSync(join(home, ".claude"), { recursive: true });
  writeFileSync(join(home, ".claude"), "a file");
  await look(3);
  expect(reported).toEqual([{ type: "busy" }, undefined]);
});

describe("the conversation's file that Codex keeps open", () => {
  const rollout = (id: string) => `rollout-2026-11-28T08-40-01-${id}.jsonl`;
  const [first, second] = ["019ac001-aaaa-7000-8000-000000000001", "019ac001-aaaa-7000-8000-000000000002"];
  const print = async (...names: readonly string[]) => {
    [open, printedAt] = [names, printedAt + 1];
    await clock.advance(1000);
    await settle();
  };
  beforeEach(async () => {
    stop.abort();
    await running;
    stop = new AbortController();
    running = reader("codex");
    await settle();
  });

  it("is reported each time that the agent has printed", async () => {
    await print("state.jsonl", "rollout-x.jsonl");
    expect(sessions).toEqual([]);
    await print("state.jsonl", rollout(first));
    open = [rollout(second)];
    await clock.advance(5000);
    await settle();
    expect(sessions).toEqual([first]);
    await print(rollout(second));
    expect(sessions).toEqual([first, second]);
  });

  it("is the agent's own while its sub-agents have theirs open", async () => {
    await print(rollout(second));
    await print(rollout(first), rollout(second));
    expect(sessions).toEqual([second, second]);
  });
});
