import type { AgentKind } from "../../support/agents/agents-home.ts";
import type { DialogCase } from "./dialog-case.ts";
import { strangeLabels, TYPED } from "./known-choices.ts";

export interface CaseFacts {
  readonly choices: readonly { readonly key: string; readonly label: string; readonly selected: boolean }[];
  readonly answered: "answered" | "changed" | "unknown" | "refused" | "not asked" | "not offered";
  /** The evidence or the error. */
  readonly detail: string;
  /** True if the command ran, or the file was written. */
  readonly ran: boolean;
  /** The tool's result that the model received. */
  readonly result: string | undefined;
}

export interface CaseResult {
  readonly id: string;
  readonly agent: AgentKind;
  readonly answer: DialogCase["answer"];
  readonly ask: DialogCase["ask"]["type"];
  readonly answered: CaseFacts["answered"];
  readonly detail: string;
  readonly choices: readonly string[];
  readonly ran: boolean;
  readonly result: string;
  /** Forbidden results: a tool that ran against the answer, an answer other than the named one, a false ANSWERED. */
  readonly faults: readonly string[];
}

/** Compares the agent's actions with the answer. Pure. */
export function judgeCase(one: DialogCase, facts: CaseFacts): CaseResult {
  const { id, agent, answer, ask } = one;
  const { answered, detail, ran, choices, result = "" } = facts;
  return {
    id,
    agent,
    answer,
    ask: ask.type,
    answered,
    detail: detail.slice(0, 200),
    choices: choices.map((choice) => `${choice.selected ? "*" : ""}${choice.key} ${choice.label.slice(0, 60)}`),
    ran,
    result: result.slice(-300),
    faults: faultsOf(one, facts),
  };
}

function faultsOf(one: DialogCase, facts: CaseFacts): string[] {
  const faults: string[] = [];
  const strange = strangeLabels(one, facts.choices);
  if (strange.length > 0) faults.push(`choices that the program did not draw: ${strange.join(" | ").slice(0, 200)}`);
  if (facts.answered === "not asked" || facts.answered === "not offered") return faults;
  return one.ask.type === "question"
    ? [...faults, ...questionFaults(one, facts)]
    : [...faults, ...toolFaults(one, facts)];
}

function toolFaults({ answer }: DialogCase, { answered, ran }: CaseFacts): string[] {
  const allows = answer !== "refuse";
  const claimed = answered === "answered" || answered === "changed";
  if (ran && !allows) return ["the tool ran, and the answer was no"];
  // A pressed key without a visible effect in time is UNKNOWN, which is true whatever happened.
  if (ran && !claimed && answered !== "unknown") return [`the tool ran, and the outcome is ${answered}`];
  if (!ran && allows && claimed) return [`the tool did not run, and the answer was yes (${answered})`];
  return [];
}

function questionFaults(one: DialogCase, { answered, result }: CaseFacts): string[] {
  if (one.ask.type !== "question") return [];
  const claimed = answered === "answered" || answered === "changed";
  if (result === undefined || result === "") return claimed && one.answer !== "chat" ? ["nothing was answered"] : [];
  const plain = (text: string) => text.replace(/[\s\ufffd]+/g, " ");
  const taken = (text: string) => plain(result).includes(`="${plain(text)}"`);
  if (one.answer === "text") return claimed && !taken(TYPED) ? ["the text was not given"] : [];
  const options = one.ask.question.options.map((option) => option.label);
  if (one.answer === "chat") return options.some(taken) ? ["an option was taken, and none was named"] : [];
  const others = options.filter((label) => one.ask.type === "question" && label !== one.ask.wanted && taken(label));
  if (others.length > 0) return [`another option was taken: ${others.join(" | ")}`];
  return claimed && !taken(one.ask.wanted) ? ["the option was not taken"] : [];
}
