import { expect, it } from "vitest";
import { waysBack } from "./way-back.ts";

it.each([
  [
    { agentCapabilities: { loadSession: true, sessionCapabilities: { resume: {} } } },
    ["session/resume", "session/load"],
  ],
  [{ agentCapabilities: { loadSession: true } }, ["session/load"]],
  [{ agentCapabilities: { sessionCapabilities: { resume: {}, list: {} } } }, ["session/resume"]],
  [{ agentCapabilities: { loadSession: false, sessionCapabilities: { resume: null } } }, []],
  [{ agentCapabilities: {} }, []],
  [{}, []],
  ["odd", []],
])("with %j an agent can %j", (initialized, ways) => {
  expect(waysBack(initialized)).toEqual(ways);
});
