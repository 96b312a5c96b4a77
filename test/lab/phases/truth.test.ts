import { describe, expect, it } from "vitest";
import type { ModelSpan } from "../../fakes/model-server.ts";
import { turnsOf } from "./truth.ts";

const OURS = /ours/;

function span(
  at: number,
  endedAt: number | undefined,
  act: ModelSpan["act"],
  text = "ours",
  withTools = true,
): ModelSpan {
  const request = {
    api: "messages",
    at,
    withTools,
    tools: [],
    userTexts: [text],
    lastUserText: text,
    afterTool: false,
    toolResult: "",
    stream: true,
  } as const;
  return { request, act, endedAt };
}

describe("an agent is at work", () => {
  it("from its first request to the end of the answer", () => {
    expect(turnsOf([span(100, 300, "say"), span(900, 950, "refuse")], [], OURS)).toEqual([
      { from: 100, to: 300, withTool: false },
      { from: 900, to: 950, withTool: false },
    ]);
  });

  it("while a tool is requested and runs, until the model has its result and has answered", () => {
    expect(turnsOf([span(100, 150, "call"), span(9000, 9100, "say")], [], OURS)).toEqual([
      { from: 100, to: 9100, withTool: true },
    ]);
  });

  it("until a person refuses the tool", () => {
    const refused = [{ from: 500, to: 500, interruptedAt: 500 }];
    const spans = [span(100, 150, "call"), span(2000, 2100, "say")];
    expect(turnsOf(spans, refused, OURS)).toEqual([
      { from: 100, to: 500, withTool: true },
      { from: 2000, to: 2100, withTool: false },
    ]);
    expect(turnsOf(spans.slice(0, 1), refused, OURS)).toEqual([{ from: 100, to: 500, withTool: true }]);
  });

  it("not during its own requests, and not forever when its work has no end yet", () => {
    const spans = [span(50, 60, "say", "ours", false), span(70, 80, "say", "a title"), span(100, undefined, "say")];
    expect(turnsOf(spans, [], OURS)).toEqual([]);
  });
});
