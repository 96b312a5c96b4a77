import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { DomainError } from "../../base/errors.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { RestartMode } from "../../process/restart-policy.ts";
import type { Notification } from "../../tmux/control/control-stream.ts";
import { AgentLifecycle, type LifeRecord } from "./agent-lifecycle.ts";
import { LifecycleMonitor, type SessionClient } from "./lifecycle-monitor.ts";

/** A tmux server with one session of one pane, as far as the monitor asks it. */
class FakeSession implements SessionClient {
  isAttached = true;
  isSessionMissing = false;
  /** Agents that are started again end before anyone looks. */
  endsAtOnce = false;
  pane = { pid: 100, dead: false, status: "", signal: "", piped: false, activity: "" };
  readonly #attaches = new SignalBus();
  readonly #listeners = new Set<(notification: Notification) => void>();

  onNotification(listener: (notification: Notification) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async attached(signal: AbortSignal): Promise<void> {
    while (!this.isAttached) await this.#attaches.next(signal);
  }

  async command(line: string): Promise<readonly string[]> {
    if (!this.isAttached) throw new DomainError("unavailable", "tmux is away");
    if (line.startsWith("list-panes -a")) return [`%0 ${this.pane.pid}`];
    if (line.startsWith("list-panes")) return ["%0"];
    const separator = /gt[0-9a-f]{16}/.exec(line)?.[0] ?? "";
    const { pid, dead, status, signal, piped, activity } = this.pane;
    const numbers = [dead ? 1 : 0, status, signal, 0, pid, piped ? 1 : 0, 80, 24, 0, 0, 0, activity, 1];
    return [[numbers.join(","), "agent", "title"].join(separator)];
  }

  async script(line: string): Promise<readonly { ok: boolean; lines: readonly string[] }[]> {
    if (line.includes("respawn-pane")) {
      this.started(this.pane.pid + 1, this.pane.piped);
      if (this.endsAtOnce) this.ended({ status: "7" });
    }
    return Array.from({ length: 4 }, () => ({ ok: true, lines: [] }));
  }

  started(pid: number, piped: boolean): void {
    this.pane = { pid, dead: false, status: "", signal: "", piped, activity: "" };
    this.notify();
  }

  ended(how: { readonly status?: string; readonly signal?: string }): void {
    this.pane = { ...this.pane, dead: true, status: "", signal: "", ...how };
    this.notify();
  }

  /** The session, and with it the agent's process, goes; the server stays. */
  leave(): void {
    this.isAttached = false;
    this.isSessionMissing = true;
    this.notify();
  }

  comeBack(pid: number): void {
    this.isAttached = true;
    this.isSessionMissing = false;
    this.started(pid, false);
    this.#attaches.notify();
  }

  notify(): void {
    for (const listener of this.#listeners) listener({ name: "%window-renamed", rest: "" });
  }
}

let clock: FakeClock;
let session: FakeSession;
/** The monitor's notifications, in order. */
let told: string[];
let testEnd: AbortController;
afterEach(() => testEnd.abort());
beforeEach(() => {
  testEnd = new AbortController();
  clock = new FakeClock();
  session = new FakeSession();
  told = [];
});

interface Run {
  readonly lifecycle: AgentLifecycle;
  readonly stop: AbortController;
}

/** A monitor that runs until the test has ended. */
async function watch(
  options: { restart?: RestartMode; before?: LifeRecord; sessionIs?: "there" | "gone"; oomKills?: () => number } = {},
) {
  const lifecycle = new AgentLifecycle(clock.now(), options.before);
  const stop = new AbortController();
  const monitor = new LifecycleMonitor(
    {
      clock,
      logger: silentLogger,
      client: session,
      lifecycle,
      agentId: () => undefined,
      help: {
        agent: (pid) => told.push(`agent ${pid}`),
        session: () => Promise.resolve(options.sessionIs ?? "gone"),
        process: () => Promise.resolve({}),
        oomKills: () => Promise.resolve(options.oomKills?.()),
        renew: () => {
          told.push("renew");
        },
      },
      listener: {
        alive: ({ pid, fresh }) => told.push(`alive ${pid}${fresh ? ", fresh" : ""}`),
        sized: () => {},
        arm: () => {
          told.push("arm");
          session.pane.piped ||= !session.pane.dead;
          return Promise.resolve(!session.pane.dead);
        },
        renewed: () => {
          told.push("renewed");
          return Promise.resolve();
        },
        lastOutputAt: () => 0,
        diverted: () => told.push("diverted"),
        dead: ({ exit, restartDue, crashLoop }) =>
          told.push(
            `dead ${JSON.stringify(exit)}${restartDue ? ", restart due" : ""}${crashLoop ? ", crash loop" : ""}`,
          ),
        finished: (exitCode) => told.push(`finished ${exitCode}`),
      },
    },
    {
      session: "s",
      captures: { dir: "/nowhere", take: () => Promise.resolve(undefined) },
      agent: { argv: ["agent"], cwd: "/", env: {}, unsetEnv: [] },
      restart: options.restart ?? "always",
      stopAsked: stop.signal,
    },
  );
  void monitor.run(testEnd.signal);
  await clock.advance(1);
  return { lifecycle, stop } satisfies Run;
}

describe("the monitor of the agent's lifecycle", () => {
  it("distinguishes an end for lack of memory from other ends by a signal, even across its own restart", async () => {
    let kills = 3;
    const before = { pid: 100, startedAt: clock.now(), restarts: 0, oomKills: 2 };
    await watch({ before, oomKills: () => kills });
    const endings = async (...signals: readonly string[]) => {
      told = [];
      for (const signal of signals) {
        session.ended({ signal });
        await clock.advance(70_000);
      }
      return told.filter((line) => line.startsWith("dead"));
    };
    const due = ", restart due";
    expect(await endings("9", "9")).toEqual([`dead {"signal":9,"outOfMemory":true}${due}`, `dead {"signal":9}${due}`]);
    kills = 4;
    expect(await endings("9", "9")).toEqual([`dead {"signal":9,"outOfMemory":true}${due}`, `dead {"signal":9}${due}`]);
    kills = 5;
    expect(await endings("15")).toEqual([`dead {"signal":15}${due}`]);
  });

  it("finds the pane, reports that its agent is alive, and pipes its output", async () => {
    const { lifecycle } = await watch();
    expect(told).toEqual(["agent 100", "alive 100, fresh", "arm"]);
    expect([lifecycle.alive, lifecycle.pid, lifecycle.life.restarts, lifecycle.pane?.id]).toEqual([true, 100, 0, "%0"]);
  });

  it("continues with the run that is in the journal", async () => {
    const { lifecycle } = await watch({ before: { pid: 100, startedAt: 5, restarts: 2 } });
    expect(told).toEqual(["agent 100", "alive 100", "arm"]);
    expect([lifecycle.life.startedAt, lifecycle.life.restarts]).toEqual([5, 2]);
  });

  it("restarts an ended agent with growing delays, and finally reports a crash loop", async () => {
    const { lifecycle } = await watch();
    const delays = [1000, 2000, 4000, 8000, 16_000];
    for (const delayMs of delays) {
      told = [];
      session.ended({ status: "3" });
      await clock.advance(delayMs - 1);
      const loop = delayMs === 16_000 ? ", crash loop" : "";
      expect(told).toEqual([`dead {"code":3}, restart due${loop}`]);
      expect([lifecycle.alive, lifecycle.exitCode]).toEqual([false, 3]);
      await clock.advance(2);
      expect(told.slice(1)).toEqual(["renewed", `agent ${lifecycle.pid}`, `alive ${lifecycle.pid}, fresh`]);
    }
    expect([lifecycle.alive, lifecycle.pid, lifecycle.life.restarts]).toEqual([true, 105, 5]);
  });

  it("counts each agent that ended before it was seen alive, and does not count the waits as its lifetime", async () => {
    const { lifecycle } = await watch();
    session.endsAtOnce = true;
    session.ended({ status: "7" });
    await clock.advance(10 * 60_000);
    const dead = told.filter((word) => word.startsWith("dead"));
    expect(dead.slice(4)).toEqual(dead.slice(4).map(() => 'dead {"code":7}, restart due, crash loop'));
    expect(dead.length).toBeGreaterThan(7);
    expect(lifecycle.life.restarts).toBe(dead.length - 1);
  });

  it("reports the signal that ended the agent, and does not restart it if the policy says so", async () => {
    const { lifecycle } = await watch({ restart: "never" });
    told = [];
    session.ended({ signal: "9" });
    await clock.advance(10_000);
    expect(told).toEqual(['dead {"signal":9}', "finished 137"]);
    expect([lifecycle.isFinished, lifecycle.exitCode]).toEqual([true, 137]);
  });

  it("adopts an agent that a person started in the pane after the end", async () => {
    const { lifecycle } = await watch({ restart: "never" });
    session.ended({ status: "0" });
    await clock.advance(1);
    told = [];
    session.started(200, true);
    await clock.advance(1);
    expect(told).toEqual(["agent 200", "alive 200, fresh", "renewed"]);
    expect([lifecycle.alive, lifecycle.isFinished, lifecycle.exit]).toEqual([true, false, undefined]);
  });

  it("ends finally if a stop is requested while it waits for a restart", async () => {
    const { lifecycle, stop } = await watch();
    told = [];
    session.ended({ status: "1" });
    await clock.advance(500);
    stop.abort();
    await clock.advance(1);
    expect(told).toEqual(['dead {"code":1}, restart due', 'dead {"code":1}', "finished 1"]);
    expect(lifecycle.isFinished).toBe(true);
  });

  it("treats another program in the pane as a new run, after an unobserved end", async () => {
    const { lifecycle } = await watch();
    told = [];
    session.started(300, true);
    await clock.advance(1);
    expect(told).toEqual(['dead {"signal":1}, restart due', "agent 300", "alive 300, fresh", "renewed"]);
    expect([lifecycle.alive, lifecycle.life.restarts]).toEqual([true, 1]);
  });

  it("pipes the output again after the pipe was lost or diverted", async () => {
    await watch();
    told = [];
    session.pane.piped = false;
    session.notify();
    await clock.advance(1);
    expect(told).toEqual(["arm"]);
    session.pane.activity = String(Math.floor(clock.now() / 1000) + 10);
    await clock.advance(2000);
    expect(told).toEqual(["arm", "diverted", "arm"]);
  });

  it("pipes the output of an agent started in a dead pane whose pipe belongs to an earlier process", async () => {
    session.pane = { ...session.pane, dead: true, status: "1", piped: true };
    await watch();
    await clock.advance(1000);
    const ended = ["arm", 'dead {"code":1}, restart due', "renewed"];
    expect(told).toEqual([...ended, "agent 101", "alive 101, fresh", "arm"]);
    await clock.advance(5000);
    expect(told.slice(6)).toEqual([]);
  });

  it("treats a missing session as the agent's end, and has it created again by the policy", async () => {
    const { lifecycle } = await watch();
    told = [];
    session.leave();
    await clock.advance(1200);
    expect(told).toEqual(['dead {"signal":1}, restart due', "renew"]);
    session.comeBack(400);
    await clock.advance(100);
    expect(told.slice(2)).toEqual(["agent 400", "alive 400, fresh", "arm"]);
    expect([lifecycle.alive, lifecycle.life.restarts]).toEqual([true, 1]);
  });

  it("waits for a session that it cannot see while its agent still runs", async () => {
    const { lifecycle } = await watch({ sessionIs: "there" });
    told = [];
    session.leave();
    await clock.advance(20_000);
    expect(told).toEqual([]);
    expect(lifecycle.alive).toBe(true);
  });
});
