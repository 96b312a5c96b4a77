import { describe, expect, it } from "vitest";
import { claudeStateFile, readClaudeState } from "./claude-state-file.ts";

const proc = { pid: 42, startTicks: 137618 };
const file = (fields: object): string => JSON.stringify({ pid: 42, procStart: "137618", status: "idle", ...fields });

it("lies in the home folder under the process's number", () => {
  expect(claudeStateFile("/home/u", 42)).toBe("/home/u/.claude/sessions/42.json");
});

describe("readClaudeState", () => {
  it.each([
    [{}, { type: "idle", background: "none" }],
    [{ status: "busy" }, { type: "busy" }],
    [{ status: "shell" }, { type: "idle", background: "shell" }],
    [
      { status: "waiting", waitingFor: "permission prompt" },
      { type: "waiting", reason: "permission prompt" },
    ],
    [{ status: "waiting" }, { type: "waiting", reason: "unknown" }],
    [{ procStart: 137618 }, { type: "idle", background: "none" }],
    [{ procStart: undefined }, { type: "idle", background: "none" }],
  ])("reads %j as %j", (fields, state) => expect(readClaudeState(file(fields), proc)).toEqual(state));

  it.each([[{ pid: 43 }], [{ procStart: "99" }], [{ status: "dreaming" }], [{ status: undefined }]])(
    "does not trust %j",
    (fields) => expect(readClaudeState(file(fields), proc)).toBeUndefined(),
  );

  it.each(["", "{", "null", "[]", '"idle"'])("does not trust %j", (text) =>
    expect(readClaudeState(text, proc)).toBeUndefined(),
  );

  it("trusts the process number alone if the start time is unknown", () => {
    expect(readClaudeState(file({}), { pid: 42, startTicks: undefined })).toEqual({ type: "idle", background: "none" });
  });
});
