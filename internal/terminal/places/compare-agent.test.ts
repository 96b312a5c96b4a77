import { describe, expect, it } from "vitest";
import { compareAgent } from "./compare-agent.ts";

const place = { type: "sidecar", agent: "rig/polecats/gone", host: "10.0.0.1", port: 9090, muted: false } as const;
const other = { agent: "rig/polecats/other", sessionId: "s-2" };

describe("a sidecar that a bead names", () => {
  const bead = { ...place, source: "bead" } as const;

  it.each([
    ["the full address", bead, { agent: "rig/polecats/gone", sessionId: "s-1" }],
    ["a bare name", bead, { agent: "gone", sessionId: "s-1" }],
    ["the session, whatever it calls itself", { ...bead, session: "s-2" }, other],
    ["the name within a rig", { ...bead, agent: "rig/gone" }, { agent: "rig/polecats/gone", sessionId: "s-1" }],
  ])("is the right one by %s", (_, asked, answer) => {
    expect(compareAgent(asked, answer)).toEqual({ type: "same" });
  });

  it("is another one by its address, and the error names both", () => {
    expect(compareAgent(bead, other)).toEqual({
      type: "another",
      message: "rig/polecats/other (session s-2) answers at 10.0.0.1:9090, but rig/polecats/gone was requested",
    });
  });

  it("is another one by its session, although the address is the same", () => {
    const answer = { agent: "rig/polecats/gone", sessionId: "s-2" };
    expect(compareAgent({ ...bead, session: "s-1" }, answer)).toMatchObject({ type: "another" });
  });

  it("is another one by a bare name", () => {
    expect(compareAgent(bead, { agent: "toast", sessionId: "s-2" })).toMatchObject({ type: "another" });
  });
});

describe("a sidecar at --host and --port", () => {
  const flags = { ...place, source: "flags" } as const;

  it.each([
    ["", other, "same"],
    ["rig/polecats/gone", other, "another"],
    ["gone", other, "unclear"],
    ["rig/polecats/gone", { agent: "worker-7", sessionId: "s-2" }, "unclear"],
    ["s-2", other, "same"],
  ])("for %j answered by %j is %s", (agent, answer, type) => {
    expect(compareAgent({ ...flags, agent }, answer)).toMatchObject({ type });
  });
});
