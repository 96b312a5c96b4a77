import { describe, expect, it } from "vitest";
import { ANSWERS, dialogCase } from "../lab/dialogs/dialog-case.ts";
import { type CaseFacts, type CaseResult, judgeCase } from "../lab/dialogs/judge-case.ts";
import { runCases } from "../lab/dialogs/run-cases.ts";
import { requireComponent } from "../support/cluster/components.ts";

/** A start of OpenCode alone takes 10 s of a core. */
const ALL_MS = 240_000;

/** A share of `npm run lab:dialogs`: one dialog for each kind of choice. */
describe.each(["claude", "codex", "opencode"] as const)("dialogs of %s that quote dialogs", (agent) => {
  it(
    "are answered with the choice that was named, and no tool runs against the answer",
    async (context) => {
      await requireComponent(context, agent);
      const results: CaseResult[] = [];
      const troubles: string[] = [];
      await runCases({
        agent,
        seed: 7,
        from: 0,
        count: ANSWERS[agent].length,
        done: new Set(),
        signal: context.signal,
        onResult: (result) => results.push(result),
        onTrouble: (text) => troubles.push(text),
      });
      expect(troubles).toEqual([]);
      expect(results.flatMap(({ id, faults }) => faults.map((fault) => `${id}: ${fault}`))).toEqual([]);
      expect(results).toHaveLength(ANSWERS[agent].length);
      expect(results.filter((result) => result.answered === "answered").length).toBeGreaterThan(0);
    },
    ALL_MS,
  );
});

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
