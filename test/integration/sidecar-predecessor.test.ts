import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kill } from "node:process";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import {
  demoCommand,
  type RunningSidecar,
  type SidecarSetup,
  startSidecar,
  until,
} from "../support/sidecar/sidecar.ts";

describe("after a supervising half was killed", () => {
  it("the next one on its folder takes over its agent and every receipt", async () => {
    await using folder = await temporaryFolder();
    const before = await killed(folder.path);
    await using sidecar = await startSidecar({}, folder.path);
    await sidecar.untilState(AgentState.IDLE);
    const status = await sidecar.client.status({});
    expect([status.agentPid, status.epoch]).toEqual([before.agentPid, before.epoch]);
    const again = await sidecar.client.nudge({ message: "told before", requestId: "before" });
    expect(again.outcome).toBe(NudgeOutcome.SUBMITTED);
    const next = await sidecar.client.nudge({ message: "told after", requestId: "after" });
    expect(next.outcome).toBe(NudgeOutcome.SUBMITTED);
    expect(await sidecar.taken()).toEqual(["told before", "told after"]);
    sidecar.process.kill("SIGTERM");
    await sidecar.exited;
    expect(isAlive(before.agentPid)).toBe(false);
  });

  it("the next one ends an agent that was started differently, and keeps every receipt", async () => {
    await using folder = await temporaryFolder();
    const before = await killed(folder.path);
    await using sidecar = await startSidecar(
      (dir) => ({ flags: ["--cols", "99"], command: demoCommand(dir) }),
      folder.path,
    );
    await sidecar.untilState(AgentState.IDLE);
    const status = await sidecar.client.status({});
    expect(status).toMatchObject({ cols: 99, epoch: before.epoch });
    expect(status.agentPid).not.toBe(before.agentPid);
    expect(isAlive(before.agentPid)).toBe(false);
    const again = await sidecar.client.getNudge({ requestId: "before" });
    expect(again.outcome).toBe(NudgeOutcome.SUBMITTED);
    expect(await sidecar.taken()).toEqual(["told before"]);
  });

  it("an agent that ended meanwhile is restarted according to the policy", async () => {
    await using folder = await temporaryFolder();
    const before = await killed(folder.path);
    kill(before.agentPid, "SIGKILL");
    await using sidecar = await startSidecar({}, folder.path);
    await sidecar.untilState(AgentState.IDLE);
    expect((await sidecar.client.status({})).agentPid).not.toBe(before.agentPid);
  }, 120_000);
});

it("of two sidecars that start at once on one state folder, one serves and the other ends because the folder is in use", async () => {
  await using folder = await temporaryFolder();
  const both = await Promise.allSettled([0, 1].map(() => startSidecar({}, folder.path)));
  const serving = both.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const refused = both.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []));
  for (const sidecar of serving) await sidecar[Symbol.asyncDispose]();
  expect(serving).toHaveLength(1);
  expect(refused.join("")).toContain("another gt-sidecar is using the state folder");
});

it("a state folder that the agent deletes is recreated for the same agent with every receipt", async () => {
  await using sidecar = await startSidecar();
  await sidecar.untilState(AgentState.IDLE);
  const before = await sidecar.client.status({});
  expect((await sidecar.client.nudge({ message: "told before", requestId: "before" })).outcome).toBe(1);
  const pid = sidecar.servingPid();
  await remove(sidecar.stateDir);
  await untilReplaced(sidecar, pid);
  await sidecar.untilState(AgentState.IDLE);
  const after = await sidecar.client.status({});
  expect([after.agentPid, after.sessionAlive]).toEqual([before.agentPid, true]);
  expect((await sidecar.client.getNudge({ requestId: "before" })).outcome).toBe(NudgeOutcome.SUBMITTED);
  expect((await sidecar.client.nudge({ message: "told after" })).outcome).toBe(NudgeOutcome.SUBMITTED);
  expect(await sidecar.taken()).toEqual(["told before", "told after"]);
});

it("entries that the agent puts in place of the state folder's parts are replaced, and the same agent takes messages", async () => {
  await using sidecar = await startSidecar();
  await sidecar.untilState(AgentState.IDLE);
  const { agentPid } = await sidecar.client.status({});
  await using elsewhere = await temporaryFolder();
  const fifo = (path: string) => execa("mkfifo", [path]);
  const folder = (path: string) => mkdir(join(path, "deep"), { recursive: true });
  const file = (path: string) => writeFile(path, "a file", { flag: "wx" });
  const link = (path: string) => symlink(elsewhere.path, path);
  const steps: readonly (readonly [what: string, put: Readonly<Record<string, (path: string) => Promise<unknown>>>])[] =
    [
      ["read by the next serving half", { "journal.jsonl": fifo, "hooks.fifo": file }],
      ["seen by the supervising half", { lock: folder, "control.sock": folder, captures: file, "tmux.conf": fifo }],
      ["tmux's own", { "tmux.sock": folder }],
      ["the folder itself", { ".": link }],
    ];
  for (const [what, put] of steps) {
    const pid = sidecar.servingPid();
    for (const [name, make] of Object.entries(put)) {
      const path = join(sidecar.stateDir, name);
      // The sidecar may recreate the entry before the replacement is in place.
      await until(`another thing at ${name}`, 30_000, async () => {
        await remove(path);
        return await make(path).then(
          () => true,
          () => undefined,
        );
      });
    }
    if ("journal.jsonl" in put) kill(pid, "SIGKILL");
    await untilReplaced(sidecar, pid);
    const idle = async () => {
      const now = await sidecar.client.status({}).catch(() => undefined); // no half serves for a moment
      return now?.state === AgentState.IDLE ? now : undefined;
    };
    const status = await until(`an idle agent after ${what}`, 60_000, idle, sidecar.log);
    expect([what, status.agentPid]).toEqual([what, agentPid]);
    const requestId = what.replaceAll(/\W/g, "-");
    const { outcome } = await until("a receipt", 30_000, () =>
      sidecar.client.nudge({ message: what, requestId }).catch(() => undefined),
    );
    expect(outcome, what).toBe(NudgeOutcome.SUBMITTED);
  }
  expect(await sidecar.taken()).toEqual(steps.map(([what]) => what));
  expect(await readdir(elsewhere.path)).toEqual([]);
});

it("permissions that the agent removes from the state folder are restored, and the same agent takes messages", async () => {
  await using sidecar = await startSidecar();
  await sidecar.untilState(AgentState.IDLE);
  const { agentPid } = await sidecar.client.status({});
  const pid = sidecar.servingPid();
  const names = (await readdir(sidecar.stateDir)).sort();
  expect(names).toEqual(expect.arrayContaining(["captures", "control.sock", "lock", "tmux.sock"]));
  for (const name of [...names, "."]) await chmod(join(sidecar.stateDir, name), 0);
  kill(pid, "SIGKILL");
  await untilReplaced(sidecar, pid);
  const nudge = () => sidecar.client.nudge({ message: "hello", requestId: "after" }).catch(() => undefined);
  expect((await until("a receipt", 60_000, nudge, sidecar.log)).outcome).toBe(NudgeOutcome.SUBMITTED);
  expect((await sidecar.client.status({})).agentPid).toBe(agentPid);
  const restored = async () => {
    const all = await Promise.all(names.map((name) => stat(join(sidecar.stateDir, name))));
    return all.every(({ mode }) => (mode & 0o600) === 0o600) || undefined;
  };
  await until("the permissions of all", 60_000, restored, sidecar.log);
});

/** @param before the pid of the serving half that is to be replaced, read before the cause of its replacement */
async function untilReplaced(sidecar: RunningSidecar, before: number): Promise<void> {
  await until("another serving half", 60_000, () => sidecar.servingPid() !== before || undefined, sidecar.log);
}

/** Files may be added to a folder meanwhile. */
async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 5 });
}

/** Starts a sidecar, sends it a message, and kills its supervising half; the agent and its tmux live on. */
async function killed(folder: string, setup: SidecarSetup = {}) {
  await using sidecar = await startSidecar(setup, folder);
  await sidecar.untilState(AgentState.IDLE);
  await sidecar.client.nudge({ message: "told before", requestId: "before" });
  await sidecar.untilState(AgentState.IDLE);
  const { agentPid, epoch } = await sidecar.client.status({});
  sidecar.process.kill("SIGKILL");
  await sidecar.exited;
  expect(isAlive(agentPid)).toBe(true);
  return { agentPid, epoch };
}

function isAlive(pid: number): boolean {
  try {
    return kill(pid, 0);
  } catch {
    return false;
  }
}

async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), "gt-left-"));
  return {
    path,
    [Symbol.asyncDispose]: async () => {
      await execa("tmux", ["-S", join(path, "state/tmux.sock"), "kill-server"]).catch(() => {}); // of a test that failed
      await rm(path, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
