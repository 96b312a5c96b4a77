import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentState, EventType } from "../../internal/gen/gastown/v1/common_pb.ts";
import { processLives } from "../../internal/process/process-lives.ts";
import { gt } from "../support/bridge/gt-transcript.ts";
import { calmTime } from "../support/calm-time.ts";
import { SidecarEventReader } from "../support/sidecar/event-reader.ts";
import { type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";
import { inItsTmux } from "../support/sidecar/sidecar-hands.ts";

/** The second that `docs/protocols/state.md` promises, doubled. */
const NOTICED_MS = 2000;
/** The longest time for the pause before a restart, and the start itself. */
const BACK_MS = 6000;
/** The limit for both, on a machine that runs other tests. */
const LIMIT_MS = 60_000;

type Act = (sidecar: RunningSidecar, pid: number) => Promise<unknown>;
const tmux =
  (...command: string[]): Act =>
  (sidecar) =>
    inItsTmux(sidecar, ...command);

const ENDS: readonly (readonly [name: string, act: Act])[] = [
  ["kill-session", tmux("kill-session", "-t", "=claude")],
  ["kill-window", tmux("kill-window", "-t", "=claude:")],
  ["kill-pane", tmux("kill-pane", "-t", "%0")],
  ["unlink-window -k", tmux("unlink-window", "-k", "-t", "=claude:")],
  [
    "kill-pane while a person's pane stands beside it",
    async (sidecar) => {
      await inItsTmux(sidecar, "split-window", "-d", "-t", "%0", "sleep", "1000");
      await inItsTmux(sidecar, "kill-pane", "-t", "%0");
    },
  ],
  [
    "kill-session while another session stands beside it",
    async (sidecar) => {
      await inItsTmux(sidecar, "new-session", "-d", "-s", "other", "sleep", "1000");
      await inItsTmux(sidecar, "kill-session", "-t", "=claude");
    },
  ],
  ["kill-server", tmux("kill-server")],
  ["respawn-pane -k", tmux("respawn-pane", "-k", "-t", "%0")],
  ["SIGKILL to its process", async (_, pid) => process.kill(pid, "SIGKILL")],
];

const readyz = async ({ healthUrl }: RunningSidecar) => (await fetch(`${healthUrl}/readyz`)).status;

describe.each(ENDS)("a session that ends by %s", (_, act) => {
  it("is reported by Status, readyz and events at once, and the agent is restarted", async () => {
    await using sidecar = await startSidecar();
    await using reader = new SidecarEventReader(sidecar.client);
    await sidecar.untilState(AgentState.IDLE);
    const { agentPid } = await sidecar.client.status({});
    expect(await readyz(sidecar)).toBe(200);
    await act(sidecar, agentPid);
    const passed = calmTime();
    // After that second, the old process is never reported as alive, and each process reported as alive is alive.
    const told = await until("its end in Status", LIMIT_MS, async () => {
      const status = await sidecar.client.status({});
      return status.agentPid === agentPid ? undefined : status;
    });
    if (!told.sessionAlive) {
      expect(told).toMatchObject({
        agentPid: 0,
        state: AgentState.STARTING,
        agentPhase: "starting",
        uptimeSeconds: 0n,
      });
      // The next agent may start between two calls: readiness counts only if there is no agent before and after it.
      const isAway = async () => !(await sidecar.client.status({})).sessionAlive;
      const [before, ready, after] = [await isAway(), await readyz(sidecar), await isAway()];
      if (before && after) expect(ready).toBe(503);
    }
    await reader.until("its end", ({ type }) => type === EventType.SESSION_FAILED);
    expect(passed()).toBeLessThan(NOTICED_MS);
    const next = await until("its next life", LIMIT_MS, async () => {
      const status = await sidecar.client.status({});
      return status.state === AgentState.IDLE ? status : undefined;
    });
    expect(passed()).toBeLessThan(NOTICED_MS + BACK_MS);
    expect(next).toMatchObject({ sessionAlive: true, restarts: 1 });
    expect(processLives(next.agentPid)).toBe(true);
    expect(processLives(agentPid)).toBe(false);
    expect(await readyz(sidecar)).toBe(200);
    const lives = reader.events.flatMap(({ type }) =>
      type === EventType.SESSION_STARTED ? ["started"] : type === EventType.SESSION_FAILED ? ["failed"] : [],
    );
    expect(lives).toEqual(["started", "failed", "started"]);
    expect((await sidecar.client.nudge({ message: "hello again" })).delivered).toBe(true);
  });
});

/** After `undo`, the agent's pane stands alone in the session `claude` again; the last move leaves no such session. */
const MOVES: readonly (readonly [name: string, act: Act, undo: Act])[] = [
  ["rename-session", tmux("rename-session", "-t", "=claude", "mine"), tmux("rename-session", "-t", "=mine", "claude")],
  ["rename-window", tmux("rename-window", "-t", "=claude:", "dead"), tmux("rename-window", "-t", "=claude:", "agent")],
  [
    "break-pane out of a window with another pane",
    async (sidecar) => {
      await inItsTmux(sidecar, "split-window", "-d", "-t", "%0", "sleep", "1000");
      await inItsTmux(sidecar, "break-pane", "-d", "-s", "%0");
    },
    tmux("kill-window", "-a", "-t", "%0"),
  ],
  [
    "swap-pane with another session's",
    async (sidecar) => {
      await inItsTmux(sidecar, "new-session", "-d", "-s", "other", "sleep", "1000");
      await inItsTmux(sidecar, "swap-pane", "-d", "-s", "%0", "-t", "other:");
    },
    async (sidecar) => {
      await inItsTmux(sidecar, "swap-pane", "-d", "-s", "%0", "-t", "=claude:");
      await inItsTmux(sidecar, "kill-session", "-t", "=other");
    },
  ],
  [
    "move-window into another session",
    async (sidecar) => {
      await inItsTmux(sidecar, "new-session", "-d", "-s", "other", "sleep", "1000");
      await inItsTmux(sidecar, "move-window", "-s", "=claude:", "-t", "other:");
    },
    async () => {},
  ],
];

describe("a change of the session", () => {
  let sidecar: RunningSidecar;
  beforeAll(async () => {
    sidecar = await startSidecar();
  });
  afterAll(() => sidecar?.[Symbol.asyncDispose]());

  it.each(MOVES)("by %s does not end it: the same agent lives, and takes a message", async (_, act, undo) => {
    await sidecar.untilState(AgentState.IDLE);
    const before = await sidecar.client.status({});
    await act(sidecar, before.agentPid);
    for (const end = performance.now() + 1500; performance.now() < end; await sleep(50)) {
      const { sessionAlive, agentPid, restarts } = await sidecar.client.status({});
      expect({ sessionAlive, agentPid, restarts }).toEqual({
        sessionAlive: true,
        agentPid: before.agentPid,
        restarts: 0,
      });
    }
    expect((await sidecar.client.nudge({ message: "still there?" })).delivered).toBe(true);
    expect(await readyz(sidecar)).toBe(200);
    await undo(sidecar, before.agentPid);
  });
});

describe("an agent that ignores the hang-up of its terminal", () => {
  const stubborn = () =>
    startSidecar({
      agent: "generic",
      command: ["/bin/sh", "-c", "trap '' HUP TERM; echo ready; while :; do sleep 1; done"],
    });

  it.each([["kill-session"], ["kill-server"], ["respawn-pane"]])(
    "is ended after %s before another one is started",
    async (way) => {
      await using sidecar = await stubborn();
      await until(
        "its start",
        LIMIT_MS,
        async () => (await sidecar.client.peek({})).output.includes("ready") || undefined,
      );
      const { agentPid } = await sidecar.client.status({});
      await inItsTmux(
        sidecar,
        way,
        ...(way === "kill-server" ? [] : way === "kill-session" ? ["-t", "=claude"] : ["-k", "-t", "%0"]),
      );
      const next = await until("its next life", LIMIT_MS, async () => {
        const status = await sidecar.client.status({});
        if (way !== "respawn-pane" && status.sessionAlive && status.agentPid !== agentPid)
          expect(processLives(agentPid)).toBe(false);
        return status.sessionAlive && status.agentPid !== agentPid ? status : undefined;
      });
      expect(processLives(next.agentPid)).toBe(true);
      await until("the old one's end", LIMIT_MS, () => !processLives(agentPid) || undefined);
    },
  );
});

describe("with --restart never", () => {
  it("a closed session stays ended: dead, without a pid, not ready, with the exit code of a hang-up", async () => {
    await using sidecar = await startSidecar({ flags: ["--restart", "never", "--linger", "15s"] });
    await using reader = new SidecarEventReader(sidecar.client);
    await sidecar.untilState(AgentState.IDLE);
    await inItsTmux(sidecar, "kill-session", "-t", "=claude");
    const passed = calmTime();
    const status = await until("its end", LIMIT_MS, async () => {
      const told = await sidecar.client.status({});
      return told.sessionAlive ? undefined : told;
    });
    expect(passed()).toBeLessThan(NOTICED_MS);
    expect(status).toMatchObject({ state: AgentState.DEAD, agentPhase: "stuck", agentPid: 0, exitCode: 129 });
    expect(await readyz(sidecar)).toBe(503);
    await reader.until("its last event", ({ done }) => done);
    const env = { PATH: process.env["PATH"] ?? "", HOME: sidecar.dir, XDG_RUNTIME_DIR: sidecar.runtimeDir };
    const at = ["--host", sidecar.host, "--port", String(sidecar.port)];
    const { stdout, code } = await gt(["status", "demo", ...at], env);
    expect(code).toBe(0);
    expect(stdout).toMatch(/dead/);
    expect(stdout).toMatch(/ended with exit code 129/);
    expect(await sidecar.exited).toBe(129);
  });
});

describe("while the serving half is being replaced", () => {
  it("a closed session is reported by the next serving half, and the agent is restarted", async () => {
    await using sidecar = await startSidecar();
    await sidecar.untilState(AgentState.IDLE);
    const { agentPid } = await sidecar.client.status({});
    process.kill(sidecar.servingPid(), "SIGKILL");
    await inItsTmux(sidecar, "kill-session", "-t", "=claude");
    const told = async () => await sidecar.client.status({}, { timeoutMs: 5000 }).catch(() => undefined);
    await until("its end in Status", LIMIT_MS, async () => {
      const status = await told();
      return (status !== undefined && status.agentPid !== agentPid) || undefined;
    });
    const next = await until("its next life", LIMIT_MS, async () => {
      const status = await told();
      return status?.state === AgentState.IDLE ? status : undefined;
    });
    expect(next).toMatchObject({ sessionAlive: true, restarts: 1 });
  });
});
