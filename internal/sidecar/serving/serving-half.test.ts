import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { inTime } from "../../../test/support/in-time.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { DomainError } from "../../base/errors.ts";
import type { ListenAddress } from "../../rpc/port/listen.ts";
import type { HealthState } from "../../rpc/server/health.ts";
import { Greeting } from "../halves/greeting.ts";
import { HalvesLinkListener } from "../halves/halves-link-listener.ts";
import type { ControlMessage } from "../halves/halves-link-messages.ts";
import type { SidecarOptions } from "../halves/options.ts";
import { type StatePaths, statePaths } from "../halves/state-dir.ts";
import { ServingHalf } from "./serving-half.ts";

const STEP_MS = 100;

let dir: string;
let paths: StatePaths;
let clock: FakeClock;
let health: HealthState;
let stop: AbortController;
let listening: ListenAddress[];
/** The messages to the supervising half, except the signs of life. */
let heard: ControlMessage["type"][];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "gt-serving-"));
  paths = statePaths(dir);
  for (const folder of [paths.hookDir, paths.captures]) mkdirSync(folder, { mode: 0o700 });
  clock = new FakeClock();
  stop = new AbortController();
  [listening, heard] = [[], []];
});
afterEach(() => {
  stop.abort();
  rmSync(dir, { recursive: true });
});

/** A serving half over the folder. There is no tmux in it. */
function serve(port = 0): Promise<void> {
  const sidecar: SidecarOptions = {
    ...{ stateDir: dir, agent: "demo", command: ["demo"], workdir: dir, home: dir, tmuxProgram: "tmux", env: {} },
    ...{ cols: 40, rows: 6, historyLimit: 100, rawBytes: 100_000, eventBuffer: 100, eventBytes: 100_000 },
    ...{ redactPatterns: [], restart: "never", lingerMs: 0, stallAfterMs: 600_000 },
    identity: { sessionId: "s1", project: "p", address: "rig/toast" },
  };
  const half = new ServingHalf(
    {
      ...{ clock, logger: silentLogger },
      onListening: async (address) => void listening.push(address),
    },
    {
      ...{ sidecar, isApart: false, hostCheck: { allowHosts: [] }, versions: {} },
      ...{ listen: { host: "127.0.0.1", port }, healthListen: { host: "127.0.0.1", port: 0 } },
    },
  );
  health = half.frame.health;
  const ended = half.run(stop.signal);
  ended.catch(() => {});
  return ended;
}

/** The supervising half's end of the link, until the function that it returns is called. */
function supervise(agentId = "agent-1"): () => Promise<void> {
  const listener = new HalvesLinkListener(
    {
      logger: silentLogger,
      greeting: new Greeting({ type: "hello", tmux: "3.3a", agentId }),
      onMessage: ({ type }) => {
        if (type !== "alive") heard.push(type);
      },
      inspect: () => ({}),
      settle: async () => undefined,
      oomKills: () => undefined,
    },
    paths.control,
  );
  const end = new AbortController();
  const ended = listener.run(end.signal);
  return () => {
    end.abort();
    return ended;
  };
}

/** Both halves; the serving one has reported that it serves. */
async function serving(): Promise<{ readonly leave: () => Promise<void>; readonly ended: Promise<void> }> {
  const leave = supervise();
  const ended = serve();
  await inTime(clock, STEP_MS, () => expect(heard).toEqual(["serving"]));
  return { leave, ended };
}

const statusOf = async () => {
  const response = await fetch(`http://127.0.0.1:${listening[0]?.port}/gastown.v1.SidecarService/Status`, {
    ...{ method: "POST", headers: { "content-type": "application/json" }, body: "{}" },
  });
  return (await response.json()) as { readonly alive?: boolean; readonly agentVersions?: object };
};

describe("the serving half", () => {
  it("waits two seconds for the supervising half's first message, then serves without it", async () => {
    const ended = serve();
    await clock.advance(1900);
    expect(listening).toEqual([]);
    await clock.advance(100);
    await vi.waitFor(() => expect(listening).toHaveLength(1), { timeout: 5000, interval: 2 });
    stop.abort();
    await ended;
  });

  it("serves at once when the supervising half sends one, and reports it", async () => {
    const { leave, ended } = await serving();
    expect(clock.monotonicMs()).toBeLessThan(2000);
    stop.abort();
    await ended;
    await leave();
  });

  it("reports without tmux that no agent is alive, and is not ready", async () => {
    const { leave, ended } = await serving();
    await clock.advance(5000);
    expect((await statusOf()).alive ?? false).toBe(false);
    expect(health.get("")).toBe(false);
    stop.abort();
    await ended;
    await leave();
  });

  it("continues to serve after a lost link, and reports again that it serves", async () => {
    const { leave, ended } = await serving();
    await leave();
    await clock.advance(10_000);
    expect((await statusOf()).alive ?? false).toBe(false);
    const leaveAgain = supervise();
    await inTime(clock, STEP_MS, () => expect(heard).toEqual(["serving", "serving"]));
    expect(listening).toHaveLength(1);
    stop.abort();
    await ended;
    await leaveAgain();
  });

  it("stops before the supervising half's first message, and leaves no timer", async () => {
    const ended = serve();
    await clock.advance(50);
    stop.abort();
    await ended;
    expect([listening, clock.sleeping]).toEqual([[], 0]);
  });

  it("stops while it serves, and leaves no timer", async () => {
    const { leave, ended } = await serving();
    stop.abort();
    await clock.until(ended);
    expect(clock.sleeping).toBe(0);
    await leave();
  });

  it("fails with the address that is in use, and never reports that it serves", async () => {
    const leave = supervise();
    const other = createServer();
    await new Promise<void>((up) => other.listen(0, "127.0.0.1", up));
    const { port } = other.address() as { port: number };
    const ended = serve(port);
    const failure = await clock.until(ended.catch((err: unknown) => err));
    expect(failure).toBeInstanceOf(DomainError);
    expect((failure as DomainError).fields["reason"]).toBe("listen");
    expect([heard, listening, clock.sleeping]).toEqual([[], [], 0]);
    other.close();
    await leave();
  });

  it("serves even if a folder is in place of its journal", async () => {
    mkdirSync(paths.journal);
    writeFileSync(join(paths.journal, "x"), "");
    const ended = serve();
    await inTime(clock, STEP_MS, () => expect(listening).toHaveLength(1));
    stop.abort();
    await ended;
  });
});
