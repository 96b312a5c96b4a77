import { afterEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { type ConnectionLimits, OpenConnections, type TrackedConnection } from "./open-connections.ts";

const LIMITS: ConnectionLimits = {
  maxConnections: 6,
  maxConnectionsOfOne: 4,
  maxWithoutRole: 2,
  idleMs: 60_000,
  idleWithoutRoleMs: 10_000,
  mayCutBusy: false,
};

let clock = new FakeClock();
let opened: TrackedConnection[] = [];
afterEach(() => {
  for (const tracked of opened) tracked.closed.abort();
  opened = [];
  clock = new FakeClock();
});

function port(limits: Partial<ConnectionLimits> = {}) {
  const log: string[] = [];
  const open = new OpenConnections(clock, { ...LIMITS, ...limits }, () => {});
  const add = (name: string, { hasRole = true, busy = false } = {}) => {
    const share = name.replace(/\d/g, "");
    const close = () => log.push(`${name} closes`);
    const tracked = open.add({ share, hasRole, close, destroy: () => log.push(`${name} cut`) });
    if (busy) tracked?.begin();
    if (tracked) opened.push(tracked);
    return tracked;
  };
  return { open, add, log };
}

describe("a new connection", () => {
  it("of a caller at its share replaces that caller's longest idle one", async () => {
    const { add, log } = port();
    for (const name of ["a1", "a2", "a3", "a4"]) {
      add(name, { busy: name === "a1" });
      await clock.advance(1);
    }
    add("a5");
    expect(log).toEqual(["a2 cut"]);
  });

  it("of a caller at its share is refused if all of its connections are busy", () => {
    const { add, log } = port();
    for (const name of ["a1", "a2", "a3", "a4"]) add(name, { busy: true });
    expect(add("a5")).toBeUndefined();
    expect(log).toEqual(["a5 cut"]);
  });

  it("replaces a connection of the caller that has the most if there is no room", () => {
    const { add, log } = port();
    for (const name of ["a1", "a2", "a3", "a4", "b1", "b2"]) add(name, { busy: true });
    expect(add("c1")).toBeDefined();
    expect(log).toEqual(["a1 cut"]);
  });

  it("of a caller without a role replaces that of another such caller, busy or not", () => {
    const { add, log, open } = port();
    add("ann1");
    for (const name of ["x1", "y1", "z1"]) add(name, { hasRole: false, busy: true });
    expect(log).toEqual(["x1 cut"]);
    expect(open.size).toBe(3);
  });

  it("of a probe replaces the oldest if busy ones may be cut", () => {
    const { add, log } = port({ mayCutBusy: true, maxConnectionsOfOne: 3 });
    for (const name of ["n1", "n2", "n3"]) add(name, { busy: true });
    expect(add("n4")).toBeDefined();
    expect(log).toEqual(["n1 cut"]);
  });
});

describe("a connection without a call", () => {
  it("closes after a minute, counted from the end of its last call", async () => {
    const { add, log } = port();
    const tracked = add("a1", { busy: true });
    await clock.advance(100_000);
    tracked?.end();
    await clock.advance(59_000);
    expect(log).toEqual([]);
    await clock.advance(1000);
    expect(log).toEqual(["a1 closes"]);
  });

  it("closes after ten seconds if its caller has no role, unless one of its calls is admitted", async () => {
    const { add, log, open } = port();
    add("x1", { hasRole: false });
    const token = add("y1", { hasRole: false });
    if (token) open.promote(token);
    await clock.advance(10_000);
    expect(log).toEqual(["x1 closes"]);
    await clock.advance(50_000);
    expect(log).toEqual(["x1 closes", "y1 closes"]);
  });
});
