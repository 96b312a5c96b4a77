import { describe, expect, it } from "vitest";
import { COMMON_OPTIONS, checkOptions, MODEL, RESUME, SYSTEM_PROMPT } from "./agent-options.ts";

const rules = { ...COMMON_OPTIONS, ...MODEL, ...RESUME, ...SYSTEM_PROMPT };

describe("options of a session", () => {
  it.each([
    { model: "claude-opus-5[1m]" },
    { model: "openrouter/x-ai/grok:free" },
    { resume: "01a205ad-e173-7ab3-93b1-f1ea42f15221", raw: "true", mode: "stdio" },
    { system_prompt: "Be brief.\n\tUse tabs." },
  ])("are accepted: %j", (options) => {
    expect(() => checkOptions("claude", rules, options)).not.toThrow();
  });

  it.each([
    [{ model: "--dangerously-skip-permissions" }, "option model of claude must begin with a letter"],
    [{ model: "" }, "option model"],
    [{ model: "a b" }, "option model"],
    [{ resume: "../../etc" }, "option resume"],
    [{ resume: "x".repeat(129) }, "option resume"],
    [{ raw: "1" }, "option raw of claude must be one of true, false"],
    [{ mode: "terminal" }, "option mode"],
    [{ system_prompt: "\x1b[2J" }, "must not hold control characters"],
    [{ system_prompt: "x".repeat(16_385) }, "at most 16384 bytes"],
    [
      { colour: "red" },
      'claude has no option "colour"; its options are mode, raw, agent, role, model, resume, system_prompt',
    ],
    [{ toString: "x" }, 'claude has no option "toString"'],
  ])("are refused: %j", (options, message) => {
    expect(() => checkOptions("claude", rules, options as Record<string, string>)).toThrow(message);
  });
});
