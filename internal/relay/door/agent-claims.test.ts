import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { VerifiedToken } from "../../auth/token-verifier.ts";
import { type AgentIssuer, claimsRefusal, readAgentClaims, renewalRefusal } from "./agent-claims.ts";

const CLAIMS = {
  ...{ iss: "town", sub: "app", aud: "relay", project_id: "p", iat: 1, exp: 2 },
  ...{ session_id: "s_1", role: "coding", agent_id: "a" },
};
const PLACE = { lane: { sessionId: "s_1", role: "coding" }, agentId: "a" };
const { publicKey: key } = generateKeyPairSync("ed25519");

function token(more: object = {}, rule: Partial<AgentIssuer> = {}): VerifiedToken {
  return { claims: readAgentClaims({ ...CLAIMS, ...more }), key: { key, rule: { issuer: "town", ...rule } } };
}

describe("readAgentClaims", () => {
  it("reads the agent's claims together with those of every token", () => {
    expect(readAgentClaims({ ...CLAIMS, scope: "read" })).toMatchObject({ subject: "app", role: "read", place: PLACE });
  });

  it.each(["session_id", "role", "agent_id"])("refuses a %s that is not a name", (claim) => {
    for (const value of [undefined, null, 7, "", "a.b", "*", ["a"], "x".repeat(65)]) {
      expect(() => readAgentClaims({ ...CLAIMS, [claim]: value })).toThrow(`the token's ${claim}`);
    }
  });
});

it.each<[object, Partial<AgentIssuer>, string | undefined]>([
  [{}, {}, undefined],
  [{}, { sessions: ["x", "s_*"] }, undefined],
  [{}, { sessions: ["s_1"] }, undefined],
  [{}, { sessions: ["*"] }, undefined],
  [{}, { sessions: ["s_"] }, "the token's issuer may not sign for this session"],
  [{}, { sessions: ["s_1x*"] }, "the token's issuer may not sign for this session"],
  [{ session_id: "s_2" }, {}, "the token is for another session"],
  [{ role: "Coding" }, {}, "the token is for another role"],
  [{ agent_id: "A" }, {}, "the token is for another agent"],
  [{ scope: "nudge" }, {}, "an agent needs the scope operate"],
])("answers %j, from an issuer with %j: %s", (more, rule, message) => {
  expect(claimsRefusal(token(more, rule), PLACE)?.message).toBe(message);
});

it("accepts a successor of a token only from the same issuer, subject and project", () => {
  expect(renewalRefusal(token(), token({ exp: 3 }))).toBeUndefined();
  for (const other of [{ iss: "x" }, { sub: "x" }, { project_id: "x" }]) {
    expect(renewalRefusal(token(), token(other))?.kind).toBe("denied");
  }
});
