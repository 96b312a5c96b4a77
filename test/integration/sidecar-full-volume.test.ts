import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, it } from "vitest";
import { AgentState } from "../../internal/gen/gastown/v1/common_pb.ts";
import { requireMountNamespace } from "../support/cluster/two-containers.ts";
import { demoCommand, startSidecar, until } from "../support/sidecar/sidecar.ts";

const [MOUNT, UNMOUNT] = ["mount", "umount"] as const;

beforeEach(requireMountNamespace);

/** A test folder whose state folder is a volume of its own, of 2 MiB. */
async function smallVolume() {
  const dir = await mkdtemp(join(tmpdir(), "gt-full-"));
  const state = join(dir, "state");
  mkdirSync(state);
  execFileSync(MOUNT, ["-t", "tmpfs", "-o", "size=2m,mode=0700", "state", state]);
  const filler = join(state, "filler");
  return {
    dir,
    fill: () => {
      try {
        for (;;) writeFileSync(filler, Buffer.alloc(4096), { flag: "a" });
      } catch (err) {
        expect((err as NodeJS.ErrnoException).code).toBe("ENOSPC");
      }
    },
    empty: () => rmSync(filler),
    [Symbol.asyncDispose]: async () => {
      execFileSync(UNMOUNT, ["--lazy", state]);
      await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

it("a serving half that restarted on a full volume shows the agent's screen once there is room", {
  timeout: 120_000,
}, async () => {
  await using volume = await smallVolume();
  await using sidecar = await startSidecar({ command: demoCommand(volume.dir) }, volume.dir);
  await sidecar.untilState(AgentState.IDLE);
  const before = await sidecar.client.peek({ lines: 50 });
  volume.fill();
  const killed = sidecar.servingPid();
  process.kill(killed, "SIGKILL");
  await until("the next serving half", 30_000, () => sidecar.servingPid() !== killed || undefined, sidecar.log);
  await sleep(2000); // it asks for the screen meanwhile, and tmux writes what fits
  volume.empty();
  await sidecar.untilState(AgentState.IDLE);
  expect((await sidecar.client.peek({ lines: 50 })).output).toBe(before.output);
  expect((await sidecar.client.nudge({ message: "fits again" })).delivered).toBe(true);
});
