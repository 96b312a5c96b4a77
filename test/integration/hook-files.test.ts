import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { profileNamed } from "../../internal/agents/programs/registry.ts";
import { type Clock, systemClock } from "../../internal/base/clock.ts";
import { makeFifo } from "../../internal/files/fifo.ts";
import { PinnedFolder } from "../../internal/files/pinned-folder.ts";
import { HookReader } from "../../internal/sidecar/agent/hook-reader.ts";
import { testDeps } from "../support/screens/tmux-sandbox.ts";
import { until } from "../support/sidecar/sidecar.ts";

let root = "";
let state = "";
let heard: string[] = [];
let stop: AbortController;
let running: Promise<void>;
let folder: PinnedFolder;
/** The number of lines that had been heard at each turn of other tasks. */
let turns: number[];
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "gt-hooks-"));
  state = join(root, "state");
  mkdirSync(join(state, "hooks"), { recursive: true });
  await makeFifo(join(state, "hooks.fifo"), process.env);
  mkdirSync(join(root, "outside/victim/deep"), { recursive: true });
  heard = [];
  turns = [];
  folder = PinnedFolder.at(state, { strict: true });
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) => {
      if (ms === 0) turns.push(heard.length);
      return systemClock.sleep(ms, signal);
    },
  };
  const deps = {
    ...testDeps,
    clock,
    profile: profileNamed("demo"),
    onEvent: ({ type }: { type: string }) => void heard.push(type),
  };
  stop = new AbortController();
  const reader = new HookReader(deps, { folder, fifo: "hooks.fifo", payloads: folder.inside("hooks") });
  running = reader.run(stop.signal);
});
afterEach(async () => {
  stop.abort();
  await running;
  rmSync(root, { recursive: true });
});

/** Writes as a hook does: without waiting for a reader. */
function say(line: string): void {
  const fd = openSync(join(state, "hooks.fifo"), constants.O_RDWR | constants.O_NONBLOCK);
  writeSync(fd, `${line}\n`);
  closeSync(fd);
}

const untilHeard = (count: number) => until(`${count} lines`, 30_000, () => heard.length >= count || undefined);

it("a folder outside stays untouched when the hooks' folder is a link to it", async () => {
  rmSync(join(state, "hooks"), { recursive: true });
  symlinkSync(join(root, "outside"), join(state, "hooks"));
  say("prompt-submitted victim");
  say("turn-ended");
  await untilHeard(2);
  expect(existsSync(join(root, "outside/victim/deep"))).toBe(true);
});

it("a flood of lines is read a few at a time, with turns for other work in between", async () => {
  say(Array(500).fill("prompt-submitted none").join("\n"));
  await untilHeard(500);
  expect(turns.length).toBeGreaterThanOrEqual(Math.floor(500 / 16) - 1);
  for (const [index, count] of turns.entries()) expect(count - (turns[index - 1] ?? 0)).toBeLessThanOrEqual(32);
});

it("a payload is removed once it is read, and so is a folder or a link in its place, but not the link's target", async () => {
  writeFileSync(join(state, "hooks/payload"), "{}");
  mkdirSync(join(state, "hooks/folder/deep"), { recursive: true });
  symlinkSync(join(root, "outside/victim"), join(state, "hooks/link"));
  for (const name of ["payload", "folder", "link"]) say(`prompt-submitted ${name}`);
  await untilHeard(3);
  const left = ["payload", "folder", "link"].filter((name) => existsSync(join(state, "hooks", name)));
  expect([left, existsSync(join(root, "outside/victim/deep"))]).toEqual([[], true]);
});

it("a replacement of the FIFO is not read, and the restored FIFO is", async () => {
  rmSync(join(state, "hooks.fifo"));
  symlinkSync("/dev/zero", join(state, "hooks.fifo"));
  await new Promise((resolve) => setTimeout(resolve, 1500));
  rmSync(join(state, "hooks.fifo"));
  await makeFifo(join(state, "hooks.fifo"), process.env);
  await until("the new FIFO to be read", 30_000, () => {
    say("turn-ended");
    return heard.length > 0 || undefined;
  });
});
