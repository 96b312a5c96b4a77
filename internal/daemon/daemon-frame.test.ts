import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../base/clock.ts";
import { createLogger } from "../base/logger.ts";
import { DaemonFrame, type DaemonFrameOptions } from "./daemon-frame.ts";

const ANY_PORT = { host: "127.0.0.1", port: 0 };
const AT = { host: "127.0.0.1", port: 7 };
const PATIENCE = { timeout: 30_000 };

describe("the frame of a daemon", () => {
  let stop: AbortController;
  let lines: Readonly<Record<string, unknown>>[];
  let running: Promise<void>[];

  beforeEach(() => {
    [stop, lines, running] = [new AbortController(), [], []];
  });
  afterEach(async () => {
    stop.abort(new Error("test ends"));
    await Promise.all(running);
  });

  function frameWith(options: Partial<DaemonFrameOptions> = {}): DaemonFrame {
    const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
    const logger = createLogger("test", "info", { destination });
    const frame = { healthListen: ANY_PORT, hostCheck: { allowHosts: [] }, ...options };
    return new DaemonFrame({ clock: systemClock, logger }, frame);
  }

  /** Runs the frame; returns the URL of its health port. */
  async function start(frame: DaemonFrame): Promise<string> {
    running.push(frame.run(stop.signal));
    const { host, port } = await frame.listening;
    return `http://${host}:${port}`;
  }
  const messages = () => lines.map(({ msg }) => msg);

  it("is ready from the moment it says so until its drain, and never after", () => {
    const frame = frameWith();
    const draining = new AbortController();
    frame.drainsWith(draining.signal);
    expect(frame.health.get("")).toBe(false);
    frame.ready("a.v1.Service");
    expect([...frame.health.services()]).toEqual([
      ["", true],
      ["a.v1.Service", true],
    ]);
    draining.abort();
    frame.ready("a.v1.Service");
    expect([...frame.health.services().values()]).toEqual([false, false]);
  });

  it("logs the address of a server once it listens", async () => {
    const { promise: listening, resolve } = Promise.withResolvers<typeof AT>();
    const served = frameWith().served({ listening });
    expect(lines).toEqual([]);
    resolve(AT);
    expect(await served).toEqual(AT);
    expect(lines).toMatchObject([{ msg: "serving", listen: "127.0.0.1:7", pid: process.pid }]);
  });

  it("logs the purpose of other ports, and nothing for a port that never listens", async () => {
    const frame = frameWith();
    await frame.alsoServed({ listening: Promise.resolve(AT) }, "revocation lists", { lists: 2 });
    expect(await frame.served({ listening: Promise.reject(new Error("in use")) })).toBeUndefined();
    expect(lines).toMatchObject([{ msg: "revocation lists served", listen: "127.0.0.1:7", lists: 2 }]);
  });

  it("answers probes and shows its metrics", async () => {
    const frame = frameWith();
    const url = await start(frame);
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    frame.ready();
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(await (await fetch(`${url}/metrics`)).text()).toContain("process_cpu_seconds_total");
  });

  it("reports what it waits for before it serves health", async () => {
    const first = Promise.withResolvers<void>();
    const url = await start(frameWith({ toldAfter: first.promise }));
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    expect(messages()).not.toContain("health served");
    first.resolve();
    await vi.waitFor(() => expect(messages()).toContain("health served"), PATIENCE);
  });

  it("does without a health port if its default address is in use, and fails if the address was set", async () => {
    const first = frameWith();
    await start(first);
    const healthListen = await first.listening;
    await expect(frameWith({ healthListen }).run(stop.signal)).rejects.toMatchObject({ kind: "unavailable" });
    running.push(frameWith({ healthListen, withoutHealth: "no health: set --health-listen" }).run(stop.signal));
    await vi.waitFor(() => expect(messages()).toContain("no health: set --health-listen"), PATIENCE);
  });
});
