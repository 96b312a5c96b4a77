import { expect, it } from "vitest";
import { readUpgradePlace, tokensOffered } from "./upgrade-place.ts";

const V1 = { acp2: false };
const GOOD = "/acp/sess_123/coding?agent_id=agent_abc";

it("reads path, query and the four headers", () => {
  const headers = {
    ...{ "x-agent-id": "agent_abc", "x-session-id": "sess_123", "x-agent-role": "coding", "x-acp-version": "1.0" },
  };
  expect(readUpgradePlace({ url: GOOD, headers }, V1)).toEqual({
    lane: { sessionId: "sess_123", role: "coding" },
    ...{ agentId: "agent_abc", dialect: "seed", subprotocol: undefined },
  });
});

it.each<[string, Readonly<Record<string, string>>, number]>([
  ["/", {}, 404],
  ["/acpx/s/r?agent_id=a", {}, 404],
  ["/acp/s?agent_id=a", {}, 400],
  ["/acp/s/r/x?agent_id=a", {}, 400],
  ["/acp/s/r", {}, 400],
  ["/acp/s/r?agent_id=", {}, 400],
  ["/acp/s/r?agent_id=a&agent_id=b", {}, 400],
  ["/acp/s/r?agent_id=a.b", {}, 400],
  ["/acp/s/r?agent_id=a&token=x", {}, 400],
  ["/acp/s/r?agent_id=a&access_token", {}, 400],
  ["/acp/%73/r?agent_id=a", {}, 400],
  ["/acp/s*/r?agent_id=a", {}, 400],
  ["/acp//r?agent_id=a", {}, 400],
  [`/acp/${"s".repeat(65)}/r?agent_id=a`, {}, 400],
  [GOOD, { "x-agent-id": "other" }, 400],
  [GOOD, { "x-session-id": "other" }, 400],
  [GOOD, { "x-agent-role": "other" }, 400],
  [GOOD, { "x-acp-version": "0.9" }, 426],
  [GOOD, { "sec-websocket-protocol": "graphql-ws" }, 426],
])("refuses %s with %j: %i", (url, headers, status) => {
  expect(readUpgradePlace({ url, headers }, V1)).toMatchObject({ status });
});

it("finds the tokens among the subprotocols", () => {
  const offered = (text: string) => tokensOffered({ "sec-websocket-protocol": text });
  expect([offered("acp.v1, bearer.a.b.c"), offered("bearer.x,bearer.y"), offered("acp.v1"), tokensOffered({})]).toEqual(
    [...[["a.b.c"], ["x", "y"], [], []]],
  );
});
