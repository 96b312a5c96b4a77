import type { AgentKind } from "../../support/agents/agents-home.ts";
import type { AnswerKind, DialogCase } from "./dialog-case.ts";

/** The text for choices that take a free text. */
export const TYPED = "mauve with dots";

interface Drawn {
  readonly key: string;
  readonly label: string;
}

type Labels = Readonly<Partial<Record<AnswerKind, RegExp>>>;

/** The labels of each program's choices; a question has its own options, followed by these. */
const LABELS: Readonly<Record<AgentKind, Labels>> = {
  claude: {
    once: /^Yes$/,
    always: /^Yes, (?:and (?:don['’]t ask again|always allow|switch to accept edits|allow)|allow)/,
    auto: /^Yes, and switch to auto mode/,
    refuse: /^No$/,
    text: /^Type something/,
    chat: /^Chat about this$/,
  },
  codex: { once: /^Yes, proceed/, always: /^Yes, and don't ask again/, refuse: /^No, and tell Codex/ },
  opencode: { once: /^Allow once$/, always: /^Allow always$/, refuse: /^Reject$/, text: /^Type your own answer$/ },
};

/** The action in the dialog that follows an answer. */
export const SECOND_STEP: Readonly<Partial<Record<AgentKind, Readonly<Partial<Record<AnswerKind, string>>>>>> = {
  opencode: { always: "Confirm", refuse: "Enter" },
};

/** The key of the choice to give, by the program's known labels; undefined if it is not offered. */
export function choiceFor({ agent, answer, ask }: DialogCase, choices: readonly Drawn[]): string | undefined {
  if (ask.type === "question" && answer === "option")
    return choices.find(({ label }) => sameLabel(label, ask.wanted))?.key;
  return choices.find(({ label }) => LABELS[agent][answer]?.test(label))?.key;
}

/** Labels that are not the program's own: misread from a place without a choice. */
export function strangeLabels({ agent, ask }: DialogCase, choices: readonly Drawn[]): readonly string[] {
  const own = Object.values(LABELS[agent]);
  const asked = ask.type === "question" ? ask.question.options.map((option) => option.label) : [];
  return choices
    .map(({ label }) => label)
    .filter((label) => !own.some((pattern) => pattern.test(label)) && !asked.some((one) => sameLabel(label, one)));
}

/** A label that is too long for its row may be cut or wrapped. */
function sameLabel(drawn: string, wanted: string): boolean {
  const plain = (text: string) => text.replace(/[\s\ufffd]+/g, " ").trim();
  const [a, b] = [plain(drawn), plain(wanted)];
  return a === b || (a.length > 20 && b.startsWith(a));
}
