import { describe, expect, it } from "vitest";
import { dialogCase } from "./dialog-case.ts";
import { type CaseFacts, judgeCase } from "./judge-case.ts";

describe("the judgement of an answer", () => {
  const facts: CaseFacts = { choices: [], answered: "answered", detail: "", ran: false, result: undefined };
  const caseOf = (answer: string) => {
    const found = Array.from({ length: 200 }, (_, i) => dialogCase("claude", 1, i)).find(
      (one) => one.answer === answer,
    );
    if (found === undefined) throw new Error(`no case of ${answer}`);
    return found;
  };

  it.each([
    ["refuse", { ran: true }, "the tool ran, and the answer was no"],
    ["refuse", { ran: true, answered: "unknown" as const }, "the tool ran, and the answer was no"],
    ["once", { ran: true, answered: "refused" as const }, "the tool ran, and the outcome is refused"],
    ["once", { ran: false }, "the tool did not run, and the answer was yes (answered)"],
    ["text", { result: 'answered: "Which one?"="Reject"' }, "the text was not given"],
    ["option", { result: 'answered: "Which one?"="none of them"' }, "the option was not taken"],
    [
      "once",
      { ran: true, choices: [{ key: "1", label: "Reject", selected: true }] },
      "choices that the program did not draw: Reject",
    ],
  ])("%s, %j: %s", (answer, change, fault) => {
    expect(judgeCase(caseOf(answer), { ...facts, ...change }).faults).toContain(fault);
  });
});
