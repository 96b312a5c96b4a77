import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { type KeptServer, TmuxKeeper } from "./tmux-keeper.ts";

let clock: FakeClock;
let stop: AbortController;
let servers: FakeServer[];
/** Commands to tmux and signals, in their order. */
let calls: string[];
let agentEnds: number;
/** Steps that end the present server. */
let endingSteps: readonly string[];

class FakeServer implements KeptServer {
  readonly pid: number;
  readonly #ended = Promise.withResolvers<void>();

  constructor(pid: number) {
    this.pid = pid;
  }

  end(): void {
    this.#ended.resolve();
  }

  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => this.end(), { once: true });
    await this.#ended.promise;
  }
}

beforeEach(() => {
  clock = new FakeClock();
  stop = new AbortController();
  servers = [];
  calls = [];
  agentEnds = 0;
  endingSteps = [];
});
afterEach(() => stop.abort());

function step(name: string): void {
  calls.push(name);
  if (endingSteps.includes(name)) present().end();
}

function present(): FakeServer {
  const server = servers.at(-1);
  if (server === undefined) throw new Error("no server was made");
  return server;
}

function keeper(adopted?: KeptServer): TmuxKeeper {
  const newServer = () => {
    servers.push(new FakeServer(100 + servers.length));
    return present();
  };
  const call = (command = "") => {
    step(command);
    return Promise.resolve(command === "has-session" ? "" : undefined);
  };
  const kill = (_pid: number, signal: string) => step(signal);
  const endAgent = async () => void agentEnds++;
  return new TmuxKeeper({ clock, logger: silentLogger, newServer, call, kill, endAgent }, adopted);
}

describe("the keeper of tmux", () => {
  it("replaces a lost server after the agent's remaining processes have ended", async () => {
    const kept = keeper();
    const running = kept.run(stop.signal);
    await clock.advance(1);
    present().end();
    await clock.advance(99);
    expect([agentEnds, servers.length]).toEqual([1, 1]);
    await clock.advance(2);
    expect([agentEnds, servers.length, kept.pid]).toEqual([1, 2, 101]);
    stop.abort();
    await running;
  });

  it("gives up after losing five servers in a row, each within a minute of its start", async () => {
    const running = keeper().run(stop.signal);
    running.catch(() => {});
    for (let lost = 0; lost < 5; lost++) {
      await clock.advance(59_000);
      present().end();
    }
    await expect(running).rejects.toThrow("the tmux server keeps ending");
    expect(servers.length).toBe(5);
  });

  it("forgets earlier losses once a server has lived for a minute", async () => {
    const running = keeper().run(stop.signal);
    for (let lost = 0; lost < 12; lost++) {
      await clock.advance(lost % 4 === 3 ? 61_000 : 1000);
      present().end();
    }
    await clock.advance(1000);
    expect(servers.length).toBe(13);
    stop.abort();
    await running;
  });

  it("keeps an adopted server running, and ends it when the keeper stops", async () => {
    const adopted = new FakeServer(7);
    const kept = keeper(adopted);
    const running = kept.run(stop.signal);
    await clock.advance(1);
    expect([kept.pid, servers.length]).toEqual([7, 0]);
    stop.abort();
    await running;
    expect([agentEnds, servers.length]).toEqual([0, 0]);
  });

  it("sends SIGCONT every five seconds, so that a suspended server continues", async () => {
    const running = keeper().run(stop.signal);
    await clock.advance(10_021);
    expect(calls.filter((call) => call === "SIGCONT")).toHaveLength(2);
    stop.abort();
    await running;
    expect(clock.sleeping).toBe(0);
  });
});

describe("renewing a server", () => {
  it.each([
    ["kill-server", ["kill-server"]],
    ["SIGTERM", ["kill-server", "SIGTERM"]],
    ["SIGKILL", ["kill-server", "SIGTERM", "SIGKILL"]],
  ])("replaces it at once when it ends at %s", async (last, steps) => {
    const kept = keeper();
    const running = kept.run(stop.signal);
    await clock.advance(1);
    endingSteps = [last];
    await clock.until(kept.renew());
    expect(calls.filter((call) => call !== "has-session" && call !== "SIGCONT")).toEqual(steps);
    expect(servers.length).toBe(2);
    stop.abort();
    await running;
  });

  it("does not count as a loss", async () => {
    const kept = keeper();
    const running = kept.run(stop.signal);
    endingSteps = ["kill-server"];
    for (let i = 0; i < 8; i++) {
      await clock.advance(10);
      await clock.until(kept.renew());
    }
    expect(servers.length).toBe(9);
    stop.abort();
    await running;
  });
});
