import { describe, expect, it } from "vitest";
import { payloadName } from "../hook-lines.ts";
import { claude } from "./claude.ts";
import { demo } from "./demo.ts";

describe("payloadName", () => {
  it.each([
    ["prompt-submitted payload.AbC123", "payload.AbC123"],
    ["prompt-submitted /state/hooks/payload.x", "payload.x"],
    ["notification n1", "n1"],
    ["prompt-submitted", undefined],
    ["turn-ended x", "x"],
    ["session-start x", "x"],
    ["session x", undefined],
    ["prompt-submitted ../../etc/passwd", "passwd"],
    ["prompt-submitted ..", undefined],
    ["prompt-submitted .hidden", undefined],
    [`prompt-submitted ${"x".repeat(200)}`, undefined],
  ])("of %j is %j", (line, name) => expect(payloadName(line)).toBe(name));
});

describe("readHook", () => {
  it.each([
    ["session-start", undefined, { type: "session-start" }],
    ["turn-ended", undefined, { type: "turn-ended" }],
    ["activity", undefined, { type: "activity" }],
    ["prompt-submitted x", '{"prompt":"hello\\nthere"}', { type: "prompt-submitted", prompt: "hello\nthere" }],
    [
      "prompt-submitted x",
      JSON.stringify({ prompt: '\n\n<pasted_content id="0f44">\na\n\nb\n</pasted_content id="0f44">\n' }),
      { type: "prompt-submitted", prompt: "a\n\nb" },
    ],
    [
      "prompt-submitted x",
      JSON.stringify({ prompt: '<pasted_content id="0f44">\na\n</pasted_content id="9999">' }),
      { type: "prompt-submitted", prompt: '<pasted_content id="0f44">\na\n</pasted_content id="9999">' },
    ],
    ["prompt-submitted x", '{"prompt":', { type: "prompt-submitted" }],
    ["prompt-submitted", undefined, { type: "prompt-submitted" }],
    ["notification x", '{"notification_type":"permission_prompt"}', { type: "waiting", reason: "permission prompt" }],
    ["notification x", '{"notification_type":"idle_prompt"}', { type: "turn-ended" }],
    ["notification x", '{"notification_type":"new"}', undefined],
    ["notification x", undefined, undefined],
    ["session-start x", '{"session_id":"a-1"}', { type: "session-start", agentSessionId: "a-1" }],
    ["turn-ended x", '{"session_id":"a/../b"}', { type: "turn-ended" }],
    ["activity", undefined, { type: "activity" }],
    ["rm -rf", undefined, undefined],
    ["", undefined, undefined],
  ])("of Claude Code reads %j with payload %j", (line, payload, event) =>
    expect(claude.readHook(line, payload)).toEqual(event),
  );

  it("of the demo agent reads the payload as the prompt", () => {
    expect(demo.readHook("prompt-submitted 1.txt", '{"prompt":1}')).toEqual({
      type: "prompt-submitted",
      prompt: '{"prompt":1}',
    });
    expect(demo.readHook("session s-1", undefined)).toEqual({ type: "session", agentSessionId: "s-1" });
    expect(demo.readHook("waiting permission prompt", undefined)).toEqual({
      type: "waiting",
      reason: "permission prompt",
    });
  });
});
