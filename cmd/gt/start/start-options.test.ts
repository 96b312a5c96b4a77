import { expect, it } from "vitest";
import { givenTo, usageErrorOf } from "../../../test/support/bridge/gt-usage.ts";
import { start } from "./start.ts";
import { readStart } from "./start-options.ts";

const read = (...argv: string[]) => readStart(givenTo(start, argv), "/repos/shop");

it.each<[string[], object]>([
  [["claude"], { provider: "claude", path: "/repos/shop", sessionId: undefined, agentOpts: {} }],
  [["codex", "/other"], { path: "/other" }],
  [["codex", "../other"], { path: "/repos/other" }],
  [["codex"], { waitMs: 600_000 }],
  [["codex", "--timeout", "90s"], { waitMs: 90_000 }],
  [["codex", "--no-wait"], { waitMs: undefined }],
  [["codex", "-s", "review-1", "-q"], { sessionId: "review-1", quiet: true }],
  [
    ["codex", "-o", "model=a=b", "--opt", "resume=x", "--mode", "terminal"],
    { agentOpts: { model: "a=b", resume: "x", mode: "terminal" } },
  ],
])("reads %j", (argv, expected) => {
  expect(read(...argv)).toMatchObject(expected);
});

it.each([
  [[], "which provider?"],
  [["codex", "a", "b"], 'too many arguments: "b"'],
  [["codex", "-o", "model"], '--opt takes KEY=VALUE, not "model"'],
  [["codex", "-s", "-x"], "--session takes 1 to 128 letters"],
  [["codex", "--no-wait", "--timeout", "1m"], "give --timeout or --no-wait, not both"],
  [["codex", "--timeout", "25h"], "--timeout is between 1ms and 24h"],
  [["codex", "-q", "--json"], "give --quiet or --json, not both"],
])("refuses %j: %s", (argv, message) => {
  expect(usageErrorOf(() => read(...argv))[0]).toContain(message);
});
