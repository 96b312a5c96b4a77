import { readdirSync, readFileSync, unlinkSync } from "node:fs";
import { createConnection, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { kill } from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { calmTime } from "../support/calm-time.ts";
import { RESTART_MS, type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";
import { inItsTmux } from "../support/sidecar/sidecar-hands.ts";

/** The pid of the control client, once there is one other than `before`. */
async function clientPid(sidecar: { readonly stateDir: string }, before?: number): Promise<number> {
  return await until("the control client", 30_000, async () => {
    const lines = (await inItsTmux(sidecar, "list-clients", "-F", "#{client_pid}")).trim().split("\n");
    const [pid = ""] = lines;
    // Without a client the line is empty; 0 would name this test's own process group.
    return lines.length === 1 && /^[1-9]\d*$/.test(pid) && Number(pid) !== before ? Number(pid) : undefined;
  });
}

function childrenOf(pid: number): readonly string[] {
  const tasks = readdirSync(`/proc/${pid}/task`);
  return tasks
    .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, "latin1").split(" "))
    .filter((child) => child !== "");
}

describe("tmux's control client", () => {
  let sidecar: RunningSidecar;
  beforeAll(async () => {
    sidecar = await startSidecar();
  });
  beforeEach(() => sidecar.untilState(AgentState.IDLE));
  afterAll(() => sidecar?.[Symbol.asyncDispose]());

  it("is a child of the supervising half, as the serving half runs no program", async () => {
    const status = readFileSync(`/proc/${await clientPid(sidecar)}/status`, "latin1");
    expect(Number(/^PPid:\s+(\d+)/m.exec(status)?.[1])).toBe(sidecar.process.pid);
    expect(childrenOf(sidecar.servingPid())).toEqual([]);
    expect((await sidecar.client.status({})).versions["tmux"]).toMatch(/^\S*\d\.\d/);
  });

  it("is restarted within a second after kill -9, and the agent takes the next message", async () => {
    const { agentPid } = await sidecar.client.status({});
    for (let i = 0; i < 5; i++) {
      const before = await clientPid(sidecar);
      const passed = calmTime();
      kill(before, "SIGKILL");
      await until("a deep peek", 30_000, async () => {
        const { output } = await sidecar.client.peek({ all: true }).catch(() => ({ output: "" }));
        return output === "" ? undefined : true;
      });
      await clientPid(sidecar, before);
      expect(passed()).toBeLessThan(1000);
    }
    const { outcome } = await sidecar.client.nudge({ message: "still there?" });
    expect([outcome, (await sidecar.client.status({})).agentPid]).toEqual([NudgeOutcome.SUBMITTED, agentPid]);
  });

  it("runs only once, however many connect, and the sidecar gets its own back", async () => {
    const sockets = Array.from({ length: 50 }, () => createConnection(join(sidecar.stateDir, "clients.sock")));
    for (const socket of sockets) socket.on("error", () => {});
    await sleep(500);
    for (const socket of sockets) socket.destroy();
    const peek = () => sidecar.client.peek({ all: true }).catch(() => undefined);
    await until("a deep peek", 30_000, peek);
    await until("one client", 30_000, async () => {
      const lines = (await inItsTmux(sidecar, "list-clients")).trim().split("\n");
      return lines.length === 1 || undefined;
    });
  });

  // tmux before 3.7 dies if a control client is killed or ends while another one identifies itself.
  it("may be requested and dropped faster than it starts, which ends neither tmux nor the agent", {
    timeout: 120_000,
  }, async () => {
    const { agentPid } = await sidecar.client.status({});
    const server = await inItsTmux(sidecar, "display-message", "-p", "#{pid}");
    for (let i = 0; i < 150; i++) {
      const socket = createConnection(join(sidecar.stateDir, "clients.sock"));
      socket.on("error", () => {});
      await sleep((i * 7) % 30);
      if (i % 3 === 0) socket.destroy();
      else setTimeout(() => socket.destroy(), 50);
    }
    await until("a deep peek", 30_000, () => sidecar.client.peek({ all: true }).catch(() => undefined));
    expect(await inItsTmux(sidecar, "display-message", "-p", "#{pid}")).toBe(server);
    expect(await sidecar.client.status({})).toMatchObject({ agentPid, restarts: 0 });
  });
});

describe("a foreign listener in place of the supervising half", () => {
  it.each(["control.sock", "clients.sock"])("on %s is replaced, whatever it sends", async (name) => {
    await using sidecar = await startSidecar();
    await sidecar.untilState(AgentState.IDLE);
    const { agentPid } = await sidecar.client.status({});
    const path = join(sidecar.stateDir, name);
    unlinkSync(path);
    const connected: Socket[] = [];
    const stranger = createServer((socket) => {
      connected.push(socket);
      socket.on("error", () => {});
      const flood = () => {
        while (!socket.destroyed && socket.write(`%begin 1 2 1\n${"x".repeat(8000)}\n{"id":1}\n`));
      };
      socket.on("drain", flood);
      flood();
    });
    await new Promise<void>((resolve) => stranger.listen(path, resolve));
    try {
      kill(sidecar.servingPid(), "SIGKILL");
      await sleep(3000);
      expect(await (await fetch(`${sidecar.healthUrl}/livez`)).text()).toBeDefined();
      unlinkSync(path); // the supervising half recreates what is missing
    } finally {
      for (const socket of connected) socket.destroy();
      stranger.close();
    }
    await until("the same agent, idle", RESTART_MS, async () => {
      const status = await sidecar.client.status({}).catch(() => undefined);
      return (status?.state === AgentState.IDLE && status.agentPid === agentPid) || undefined;
    });
  });
});
