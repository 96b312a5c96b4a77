import { describe, expect, it } from "vitest";
import { agentAddressOf, checkAgent, withoutAgent } from "./session-agent.ts";

describe("agent_opts.agent and .role", () => {
  it.for(["fixer", "polecats/toast", "a", "Fixer_2.b", "x".repeat(128)])("take %s as a name", (agent) => {
    checkAgent({ agent }, []);
    expect(agentAddressOf({ project: "shop", id: "s1", agentOpts: { agent } })).toBe(`shop/${agent}`);
  });

  it.for(["", "/a", "a/", "a//b", "../a", ".a", "a b", "a\n", "-x", "é", "x".repeat(129)])(
    "refuse %j as a name",
    (agent) => {
      expect(() => checkAgent({ agent }, [])).toThrow(/is not a name/);
    },
  );

  it("take a role of the agents' tokens only", () => {
    checkAgent({ role: "reviewer" }, ["worker", "reviewer"]);
    checkAgent({}, []);
    expect(() => checkAgent({ role: "operator" }, ["worker"])).toThrow(/may not have the role "operator"/);
    expect(() => checkAgent({ role: "worker" }, [])).toThrow(/may not have the role/);
  });

  it("do not reach the provider, and default to the session's id", () => {
    expect(withoutAgent({ agent: "a", role: "r", model: "m" })).toEqual({ model: "m" });
    expect(agentAddressOf({ project: "shop", id: "s1", agentOpts: {} })).toBe("shop/s1");
  });
});
