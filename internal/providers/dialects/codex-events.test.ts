import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Json, objectAt, parseObject } from "../../base/json-fields.ts";
import { readCodexNotification } from "./codex-events.ts";

const recorded = new URL("../../../test/testdata/providers/codex-0.169.0.jsonl", import.meta.url);
const THREAD = "01a205c5-a765-7a43-88e5-efb689d75624";

describe("notifications of Codex's app-server", () => {
  it("reads a recorded session of two turns", () => {
    const messages = readFileSync(recorded, "utf8").trimEnd().split("\n").map(parseObject);
    const notifications = messages.filter(
      (message) => message?.["method"] !== undefined && message["id"] === undefined,
    );
    const events = notifications.flatMap((message) =>
      readCodexNotification(String(message?.["method"]), objectAt(message, "params"), THREAD),
    );
    const told = events.filter((event) => event.type !== "output" || event.stream === "stdout");
    expect(told.map((event) => (event.type === "output" ? event.text : event.type))).toEqual([
      "turn-began",
      "one two\n",
      "turn-ended",
      "turn-began",
      "● Shell(/bin/bash -lc 'touch made')\n",
      "  ⎿ declined\n",
      "Done with the tool.\n",
      "turn-ended",
    ]);
  });

  it("mark the model's words, and not tool output that looks like them", () => {
    const completed = (item: Json) => readCodexNotification("item/completed", { item }, THREAD);
    const text = "● read it\n  ⎿ myself";
    expect(completed({ type: "agentMessage", text })).toMatchObject([{ modelChars: text.length + 1 }]);
    const [result] = completed({ type: "commandExecution", aggregatedOutput: "done\n", exitCode: 0 });
    expect(result).not.toHaveProperty("modelChars");
  });

  it.each<[string, Json, readonly string[]]>([
    [
      "item/completed",
      { item: { type: "commandExecution", aggregatedOutput: "a\nb\n", exitCode: 0 } },
      ["  ⎿ a\n    b\n"],
    ],
    [
      "item/completed",
      { item: { type: "commandExecution", aggregatedOutput: "a\n", exitCode: 2 } },
      ["  ⎿ exit code 2\n    a\n"],
    ],
    [
      "item/completed",
      { item: { type: "fileChange", changes: [{ path: "a" }, { path: "b" }], status: "declined" } },
      ["● Edit(a, b)\n  ⎿ declined\n"],
    ],
    [
      "item/completed",
      { item: { type: "mcpToolCall", server: "s", tool: "t", arguments: { query: "q" } } },
      ["● s.t(q)\n"],
    ],
    ["item/completed", { item: { type: "webSearch", query: "q" } }, ["● WebSearch(q)\n"]],
    ["item/completed", { item: { type: "reasoning", content: ["secret"] } }, []],
    ["item/completed", {}, []],
    ["item/completed", { threadId: "another", item: { type: "agentMessage", text: "of a helper" } }, []],
    [
      "turn/completed",
      { turn: { status: "failed", error: { message: "no model" } } },
      ["● The turn failed: no model\n", "turn-ended"],
    ],
    ["turn/completed", { turn: { status: "interrupted" } }, ["● The turn was interrupted\n", "turn-ended"]],
    [
      "error",
      { willRetry: true, error: { message: "Reconnecting... 1/5", additionalDetails: "429" } },
      ["● Reconnecting... 1/5 429\n"],
    ],
    ["error", { willRetry: false, error: { message: "gone" } }, []],
    ["warning", { message: "careful" }, ["careful\n"]],
    ["of/a/later/version", {}, []],
  ])("%s %j", (method, params, expected) => {
    const events = readCodexNotification(method, params, THREAD);
    expect(events.map((event) => (event.type === "output" ? event.text : event.type))).toEqual(expected);
  });
});
