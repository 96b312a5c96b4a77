import { describe, expect, it } from "vitest";
import { answerSubject, subjectsOf } from "./service-names.ts";
import { optionOf, questionOf } from "./service-query.ts";

const promptOf = (role: string, sessionId: string, agentId: string) =>
  subjectsOf({ lane: { role, sessionId }, agentId }).prompt;

describe("an agent's subjects", () => {
  it("have lower-case tokens, and no two names share them", () => {
    expect(promptOf("coding", "s-1", "abc")).toBe("agents.prompt.coding.s-1.abc");
    const names = ["A", "a", "a_b", "A_B", "x--41", "x--", "_", "-"];
    const tokens = names.map((name) => promptOf(name, "s", "a"));
    expect(new Set(tokens).size).toBe(names.length);
    for (const token of tokens) expect(token).toMatch(/^agents\.prompt\.[a-z0-9-]+\.s\.a$/);
  });

  it("for answers are unpredictable", () => {
    const lane = { role: "coding", sessionId: "S" };
    expect(answerSubject(lane)).toMatch(/^agents\.query\.coding\.x--53\.[0-9a-f]{32}$/);
    expect(answerSubject(lane)).not.toBe(answerSubject(lane));
  });
});

describe("a question", () => {
  const options = [{ optionId: "1", name: "Yes" }, { optionId: "always" }, { name: "no id" }, "x"];

  it("states what the agent wants, and the possible answers", () => {
    const toolCall = { toolCallId: "t", title: "rm x" };
    const text = questionOf({ approvalId: "a", expiresAt: null, toolCall, options });
    expect(text).toBe("May the agent do this: rm x\nAnswer with one of: 1 (Yes), always. Anything else is a refusal.");
    expect(questionOf({ approvalId: "a", expiresAt: null, toolCall: null, options: null })).toContain(
      "do this: this\n",
    );
  });

  it("is answered by an option's id or name, and refused by any other text", () => {
    expect(["1", " yes\n", "YES", "always"].map((answer) => optionOf(answer, options))).toEqual([
      "1",
      "1",
      "1",
      "always",
    ]);
    expect(["", "2", "Always!", "no id"].map((answer) => optionOf(answer, options))).toEqual([null, null, null, null]);
  });
});
