import { rm } from "node:fs/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ErrorKind } from "../../internal/base/errors.ts";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { startHostileServer } from "../fakes/hostile-server.ts";
import { privatePlace } from "../support/agents/agent-places.ts";
import { gt } from "../support/bridge/gt-transcript.ts";
import type { Ran } from "../support/run-to-end.ts";

const OBEYED = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;
/** The agent's screen and a dialog's text are shown line by line. */
const AGENT_LINES = { output: "a\x1b]0;t\x07 \x9b2J\u202eb", text: "Proceed?\x1b[2J", resolution: "" };

let place: Awaited<ReturnType<typeof privatePlace>>;
beforeAll(async () => {
  place = await privatePlace();
});
afterAll(() => rm(place.dir, { recursive: true }));

function expectHarmless({ stdout, stderr, code }: Ran): void {
  expect(stdout).not.toMatch(OBEYED);
  expect(stderr).not.toMatch(OBEYED);
  expect(`${stdout}${stderr}`).not.toMatch(/^\s*FORGED/m);
  expect(stderr).not.toContain("bug:");
  expect(code).not.toBe(1);
}

const COMMANDS: readonly string[][] = [
  ["status"],
  ["status", "--json"],
  ["peek", "a"],
  ["peek", "a", "--json"],
  ["peek", "a", "--follow"],
  ["nudge", "a", "hello"],
  ["nudge", "a", "hello", "--json"],
  ["receipt", "a", "id-1"],
  ["receipt", "a", "id-1", "--json"],
  ["cancel", "a", "id-1"],
  ["cancel", "a", "id-1", "--json"],
  ["keys", "a", "Enter"],
  ["keys", "a", "Enter", "--json"],
  ["respond", "a"],
  ["respond", "a", "--json"],
  ["respond", "a", "--text", "yes"],
  ["respond", "a", "--text", "yes", "--json"],
  ["stop", "a"],
  ["stop", "a", "--json"],
  ["wait", "a", "--for", "idle", "--timeout", "300ms"],
  ["wait", "a", "--for", "dialog", "--json"],
  ["watch", "a"],
  ["watch", "a", "--json"],
];

it.each(COMMANDS)("gt %s %s prints no control sequence from a hostile server", async (...words) => {
  await using server = await startHostileServer({ fields: { ...AGENT_LINES, state: AgentState.DIALOG } });
  expectHarmless(await gt([...words, "--port", String(server.port)], place.env));
});

it.each([
  NudgeOutcome.QUEUED,
  NudgeOutcome.STRANDED,
  NudgeOutcome.UNKNOWN,
  NudgeOutcome.COMPOSER_BUSY,
  NudgeOutcome.EXPIRED,
])("gt nudge prints no control sequence when the outcome is %s", async (outcome) => {
  await using server = await startHostileServer({ fields: { ...AGENT_LINES, outcome } });
  expectHarmless(await gt(["nudge", "a", "hello", "--port", String(server.port)], place.env));
});

it.each<[ErrorKind, string[]]>([
  ["precondition", ["respond", "a", "--text", "yes"]],
  ["precondition", ["respond", "a", "--text", "yes", "--json"]],
  ["precondition", ["keys", "a", "Enter"]],
  ["precondition", ["keys", "a", "Enter", "--json"]],
  ["precondition", ["cancel", "a", "id-1"]],
  ["not-found", ["receipt", "a", "id-1"]],
  ["denied", ["stop", "a"]],
  ["exhausted", ["nudge", "a", "hello"]],
  ["invalid", ["watch", "a"]],
  ["invalid", ["peek", "a"]],
])("an error of kind %s from a hostile server is harmless to gt %s", async (fails, words) => {
  await using server = await startHostileServer({ fields: { ...AGENT_LINES, state: AgentState.DIALOG }, fails });
  expectHarmless(await gt([...words, "--port", String(server.port)], place.env));
});
