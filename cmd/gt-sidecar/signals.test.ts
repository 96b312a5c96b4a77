import { describe, expect, it } from "vitest";
import { type SidecarProcessRole, signalsFor } from "./signals.ts";

const place = (over: Partial<SidecarProcessRole>): SidecarProcessRole => ({
  isFirst: false,
  hasTerminal: false,
  isStandby: false,
  ...over,
});

describe("signals of gt-sidecar", () => {
  it("stop it by keys of the terminal if it is not a container's first process", () => {
    expect(signalsFor(place({ hasTerminal: true })).stop).toContain("SIGINT");
  });

  it("do not stop a container's first process by keys of the terminal", () => {
    const { stop, ignore } = signalsFor(place({ isFirst: true, hasTerminal: true }));
    expect(stop).toEqual(["SIGTERM", "SIGHUP"]);
    expect(ignore).toEqual(expect.arrayContaining(["SIGINT", "SIGQUIT"]));
  });

  it("stop a container's first process that has no terminal", () => {
    expect(signalsFor(place({ isFirst: true })).stop).toEqual(["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"]);
  });

  it("do not reach the serving half", () => {
    expect(signalsFor(place({ isStandby: true, hasTerminal: true })).stop).not.toContain("SIGINT");
  });

  it.each([place({}), place({ isFirst: true }), place({ isStandby: true })])("open no inspector: %o", (where) => {
    expect(signalsFor(where).ignore).toContain("SIGUSR1");
  });
});
