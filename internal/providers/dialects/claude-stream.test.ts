import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readClaudeLine } from "./claude-stream.ts";

const recorded = new URL("../../../test/testdata/providers/claude-2.1.330.jsonl", import.meta.url);

describe("readClaudeLine", () => {
  it("reads a recorded session of two turns", () => {
    const lines = readFileSync(recorded, "utf8").trimEnd().split("\n").map(readClaudeLine);
    expect(lines).not.toContain(undefined);
    const first = "7a0598c8-8235-4032-825b-9123e46a8dbc";
    const second = "b7b0d58c-884b-4eda-b514-56073699077b";
    const id = "14e89ff0-d984-4166-b293-49d183a95557";
    const permission = "d4c3e5a2-fdb0-4260-b06c-259a486d1e64";
    const input = { command: "touch made", description: "Runs the command that was asked for" };
    const denied =
      "Denied: nobody can answer requests in this session. Go on without it, or end the turn and say what you need.";
    expect(lines.flatMap((line) => line ?? [])).toEqual([
      { type: "answered", requestId: "936d0f5a-ec70-4de7-9d13-24636737d77e" },
      { type: "kept", uuid: first },
      { type: "begun", uuid: first },
      { type: "conversation", id },
      { type: "turn-began" },
      { type: "begun", uuid: first },
      { type: "turn-began" },
      { type: "output", text: "one two\n", modelChars: 8 },
      { type: "turn-ended", hasFailed: false },
      { type: "begun", uuid: first },
      { type: "kept", uuid: second },
      { type: "begun", uuid: second },
      { type: "conversation", id },
      { type: "turn-began" },
      { type: "begun", uuid: second },
      { type: "turn-began" },
      { type: "output", text: "● Bash(touch made)\n" },
      { type: "asks", requestId: permission, tool: "Bash", input, text: "touch made" },
      { type: "answered", requestId: permission },
      { type: "output", text: `  ⎿ ${denied}\n` },
      { type: "turn-began" },
      { type: "output", text: "Done with the tool.\n", modelChars: 20 },
      { type: "turn-ended", hasFailed: false },
      { type: "begun", uuid: second },
    ]);
  });

  it.each([
    [
      '{"type":"result","subtype":"error_max_turns"}',
      [
        { type: "output", text: "● The turn ended: error_max_turns\n" },
        { type: "turn-ended", hasFailed: true },
      ],
    ],
    ['{"type":"result","subtype":"success","is_error":true}', [{ type: "turn-ended", hasFailed: true }]],
    [
      '{"type":"control_request","request_id":"r","request":{"subtype":"hook_callback"}}',
      [{ type: "unknown-request", requestId: "r" }],
    ],
    [
      '{"type":"control_response","response":{"subtype":"error","request_id":"r","error":"no"}}',
      [{ type: "answered", requestId: "r", error: "no" }],
    ],
    ['{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"secret"}]}}', [{ type: "turn-began" }]],
    [
      '{"type":"assistant","message":{"content":"plain"}}',
      [{ type: "turn-began" }, { type: "output", text: "plain\n", modelChars: 6 }],
    ],
    [
      '{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error: 529"}]}}',
      [{ type: "turn-began" }, { type: "output", text: "API Error: 529\n" }],
    ],
    ['{"type":"assistant"}', [{ type: "turn-began" }]],
    [
      '{"type":"user","message":{"content":[{"type":"tool_result","content":[{"type":"text","text":"a"},{"type":"image"}]}]}}',
      [{ type: "output", text: "  ⎿ a\n    [image]\n" }],
    ],
    [
      '{"type":"command_lifecycle","command_uuid":"u","state":"refused"}',
      [{ type: "dropped", uuid: "u", how: "refused" }],
    ],
    ['{"type":"command_lifecycle","command_uuid":"u","state":"of a later version"}', []],
    ['{"type":"of a later version","x":1}', []],
    ['{"type":7}', undefined],
    ["{}", undefined],
    ["null", undefined],
    ['{"type":"assistant","message":{"content":[{"type":"te', undefined],
    ["Error: something plain", undefined],
  ])("%s", (line, expected) => {
    expect(readClaudeLine(line)).toEqual(expected);
  });
});
