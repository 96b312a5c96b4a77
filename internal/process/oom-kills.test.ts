import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { oomKills } from "./oom-kills.ts";

describe("the number of processes of the container that were killed for lack of memory", () => {
  let dir = "";
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "gt-oom-"));
  });
  afterEach(() => rm(dir, { recursive: true }));

  it.for([
    ["cgroup v2", "0::/\n", "memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n", 2],
    ["cgroup v2, a group of the machine", "0::/user.slice/a\n", "user.slice/a/memory.events", "oom_kill 4\n", 4],
    ["cgroup v1", "9:memory:/pod/a\n1:cpu:/x\n", "memory/pod/a/memory.oom_control", "under_oom 0\noom_kill 5\n", 5],
    ["cgroup v1, in a container", "9:memory:/pod/a\n0::/\n", "memory/memory.oom_control", "oom_kill 1\n", 1],
    ["a kernel that does not count", "9:memory:/\n", "memory/memory.oom_control", "under_oom 0\n", undefined],
    ["no control groups", "", "other", "", undefined],
  ] as const)("is read from %s", async ([, own, file, text, count]) => {
    const mounted = join(dir, "mounted");
    await mkdir(dirname(join(mounted, file)), { recursive: true });
    await writeFile(join(dir, "own"), own);
    await writeFile(join(mounted, file), text);
    expect(oomKills({ own: join(dir, "own"), mounted })).toBe(count);
  });
});
