import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Json, objectAt, parseObject } from "../../base/json-fields.ts";
import { endAcpText, NO_TEXT, readAcpUpdate } from "./acp-updates.ts";

const recorded = new URL("../../../test/testdata/providers/opencode-1.18.33.jsonl", import.meta.url);

/** The texts of the updates, followed by that of the turn's end. */
function read(...updates: readonly Json[]): readonly string[] {
  let state = NO_TEXT;
  const texts = updates.map((update) => {
    const step = readAcpUpdate(state, update);
    state = step.state;
    return step.text;
  });
  return [...texts, endAcpText(state).text].filter((text) => text !== "");
}

const words = (text: string): Json => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
const tool = (status: string, more: Json = {}): Json => ({
  ...{ sessionUpdate: "tool_call_update", toolCallId: "t", status, kind: "execute", title: "ls -l" },
  rawInput: { command: "ls -l" },
  ...more,
});

describe("session updates of the Agent Client Protocol", () => {
  it("reads a recorded session of two turns", () => {
    const messages = readFileSync(recorded, "utf8").trimEnd().split("\n").map(parseObject);
    const updates = messages.flatMap((message) =>
      message?.["method"] === "session/update" ? [objectAt(message, "params", "update")] : [],
    );
    expect(read(...updates).join("")).toBe(
      "one two\n● execute(touch made)\n  ⎿ The user rejected permission to use this specific tool call.\n",
    );
  });

  it("report the model's words as whole lines", () => {
    expect(read(words("one "), words("line\nand "), words("more"))).toEqual(["one line\n", "and more\n"]);
  });

  it("report a line in pieces if it is too long", () => {
    expect(read(words("x".repeat(5000)), words("y"))).toEqual(["x".repeat(5000), "y\n"]);
  });

  it("mark the part of a text that is the model's words", () => {
    const { state, modelChars } = readAcpUpdate(NO_TEXT, words("● one\n  ⎿ two\nLook:"));
    expect(modelChars).toBe("● one\n  ⎿ two\n".length);
    expect(readAcpUpdate(state, tool("completed"))).toMatchObject({
      text: "Look:\n● execute(ls -l)\n",
      modelChars: "Look:\n".length,
    });
    expect(endAcpText(state)).toMatchObject({ text: "Look:\n", modelChars: "Look:\n".length });
  });

  it("report each tool once with its action and once with its result", () => {
    const content = [{ type: "content", content: { type: "text", text: "a\nb" } }];
    const updates = [
      { ...tool("pending"), sessionUpdate: "tool_call", title: "bash" },
      tool("in_progress"),
      tool("in_progress"),
      tool("completed", { content }),
    ];
    expect(read(words("Look:"), ...updates)).toEqual(["Look:\n● execute(ls -l)\n", "  ⎿ a\n    b\n"]);
  });

  it.each([
    [tool("completed"), ["● execute(ls -l)\n"]],
    [tool("failed"), ["● execute(ls -l)\n  ⎿ failed\n"]],
    [tool("in_progress", { title: "write", kind: "edit", rawInput: { filePath: "/a" } }), ["● write(/a)\n"]],
    [tool("completed", { content: [{ type: "diff", path: "/a" }] }), ["● execute(ls -l)\n  ⎿ diff of /a\n"]],
    [{ sessionUpdate: "plan", entries: [{ status: "pending", content: "paint" }] }, ["● pending: paint\n"]],
    [{ sessionUpdate: "agent_thought_chunk", content: { text: "secret" } }, []],
    [{ sessionUpdate: "usage_update", used: 0 }, []],
    [{ sessionUpdate: "of a later version" }, []],
    [{}, []],
  ])("%j", (update, texts) => {
    expect(read(update)).toEqual(texts);
  });
});
