import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { spawn as spawnPty } from "@lydell/node-pty";
import { beforeEach, describe, expect, it } from "vitest";
import { AgentState } from "../../internal/gen/gastown/v1/common_pb.ts";
import { programFile } from "../support/programs.ts";
import { firstProcessOf, PID_NAMESPACE, requirePidNamespace } from "../support/sidecar/pid-namespace.ts";
import { demoCommand, RESTART_MS, type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";

/** A stream that has begun, and the reason with which it will end. */
async function openStream(sidecar: RunningSidecar) {
  const updates = sidecar.client.watchOutput({ lines: 1 })[Symbol.asyncIterator]();
  await updates.next();
  const last = async () => {
    let reason = "";
    for (let next = await updates.next(); next.done !== true; next = await updates.next())
      reason = next.value.endReason;
    return reason;
  };
  return { last: last() };
}

describe("gt-sidecar as the first process of a container", () => {
  beforeEach(requirePidNamespace);

  it.each(["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP"] as const)(
    "without a terminal it ends gracefully on %s: streams end with a reason, and it exits with the agent's code",
    async (signal) => {
      await using sidecar = await startSidecar({ isFirst: true });
      await sidecar.untilState(AgentState.IDLE);
      const { last } = await openStream(sidecar);
      sidecar.signal(signal);
      expect(await last).toContain("shutting down");
      expect(await sidecar.exited).toBe(0);
    },
  );

  it("it opens no inspector on SIGUSR1, and survives SIGUSR2", async () => {
    await using sidecar = await startSidecar({ isFirst: true });
    await sidecar.untilState(AgentState.IDLE);
    const pid = sidecar.servingPid();
    for (const signal of ["SIGUSR1", "SIGUSR2"] as const) sidecar.signal(signal);
    await sleep(500);
    expect(await sidecar.client.status({})).toMatchObject({ sessionAlive: true });
    expect(sidecar.servingPid()).toBe(pid);
    expect(sidecar.log()).not.toContain("Debugger");
  });

  it("with a terminal it passes Ctrl-C and Ctrl-\\ on as keys, and SIGTERM still ends it gracefully", async () => {
    await using sidecar = await inTerminal();
    for (const key of ["\x03", "\x1c", "\x03"]) {
      sidecar.type(key);
      await sleep(300);
    }
    await sleep(500);
    expect(sidecar.seen()).not.toContain("ended");
    process.kill(sidecar.pid, "SIGTERM");
    expect(await sidecar.exited).toBe(0);
  });
});

/** A sidecar as the first process of a container with a terminal (`docker run -it`). */
async function inTerminal() {
  const dir = await mkdtemp(join(tmpdir(), "gt-test-"));
  const main = programFile("gt-sidecar");
  const flags = ["--agent", "demo", "--state-dir", join(dir, "state"), "--workdir", dir, "--grace", "5s"];
  const listen = ["--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"];
  const args = [...PID_NAMESPACE, process.execPath, main, ...flags, ...listen, "--", ...demoCommand(dir)];
  const env = { PATH: process.env["PATH"] ?? "", HOME: dir, LANG: "C.UTF-8", XDG_RUNTIME_DIR: dir };
  // The keys would end unshare; Node does not inherit the signals that are ignored here.
  const pty = spawnPty("/bin/sh", ["-c", `trap "" INT QUIT; exec "$@"`, "sh", ...args], {
    name: "xterm-256color",
    cols: 1000,
    rows: 50,
    cwd: dir,
    env,
  });
  let seen = "";
  let over = false;
  pty.onData((data) => {
    seen += data;
  });
  const exited = new Promise<number>((resolve) =>
    pty.onExit(({ exitCode }) => {
      over = true;
      resolve(exitCode);
    }),
  );
  await until(
    "it to serve",
    RESTART_MS,
    () => seen.includes('"msg":"serving"') || undefined,
    () => seen,
  );
  return {
    type: (keys: string) => pty.write(keys),
    pid: firstProcessOf(pty.pid),
    exited,
    seen: () => seen,
    [Symbol.asyncDispose]: async () => {
      if (!over) pty.kill("SIGKILL");
      await exited;
      await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
