import type { Answer, AnswerStep, DialogView } from "./profile.ts";

export interface ListKeys {
  readonly next: string;
  readonly previous: string;
  /** Choices whose label matches ask for one line of text. */
  readonly asksText?: RegExp;
  /** The text is typed on the choice itself, or after Enter has opened a field for it. */
  readonly textField?: "inline" | "after-enter";
}

export const VERTICAL: ListKeys = { next: "Down", previous: "Up" };

export const HORIZONTAL: ListKeys = { next: "Right", previous: "Left" };

/**
 * Selects a choice with the arrows and presses Enter on it. Digits would be shorter, but some dialogs take them for
 * text, some lists have none, and a digit decides without showing its choice first. An arrow moves a visible mark, and
 * an Enter that comes too late reaches an empty composer, where it does nothing.
 */
export function answerByArrows(keys: ListKeys, dialog: DialogView, choice: string, text: string | undefined): Answer {
  const { choices, unclear } = dialog;
  if (unclear !== undefined) return unsure(`its choices cannot be read with certainty: ${unclear}`);
  if (choices.length === 0) return cannot("this dialog shows no choices: answer it in the agent's terminal");
  const asks = (label: string) => keys.asksText?.test(label) === true;
  const wanted =
    choice === "" && text !== undefined
      ? choices.find((one) => asks(one.label))
      : choices.find((one) => one.key === choice);
  if (wanted === undefined) return wrong(choice, text, dialog);
  if (text === undefined && asks(wanted.label)) return invalid(`choice ${wanted.key} needs a text`);
  if (text !== undefined && !asks(wanted.label)) return invalid(`choice ${wanted.key} takes no text`);
  if (choices.filter((one) => one.selected).length !== 1) return unsure("not exactly one of its choices is selected");
  if (new Set(choices.map((one) => one.key)).size < choices.length)
    return unsure("two of its choices have the same key");
  const from = choices.findIndex((one) => one.selected);
  const { key, label } = wanted;
  return {
    type: "steps",
    steps: [...walk(keys, dialog, from, choices.indexOf(wanted)), ...give(keys, { key, label }, text)],
  };
}

function walk(keys: ListKeys, { choices }: DialogView, from: number, to: number): AnswerStep[] {
  const name = to > from ? keys.next : keys.previous;
  const step = Math.sign(to - from);
  return Array.from({ length: Math.abs(to - from) }, (_, i) => {
    const { key = "", label = "" } = choices[from + i * step] ?? {};
    return { press: { type: "key", name }, on: { key, label } } as const;
  });
}

function give(keys: ListKeys, on: AnswerStep["on"], text: string | undefined): AnswerStep[] {
  const enter = { type: "key", name: "Enter" } as const;
  if (text === undefined) return [{ press: enter, on }];
  const typed: AnswerStep = { press: { type: "text", text }, on };
  const submit: AnswerStep = { press: enter, on, after: { type: "text", text } };
  if (keys.textField !== "after-enter") return [typed, submit];
  return [{ press: enter, on }, { ...typed, after: { type: "field" } }, submit];
}

function wrong(choice: string, text: string | undefined, { choices }: DialogView): Answer {
  if (choice === "" && text !== undefined) return invalid("this dialog asks for no text");
  const known = choices.map((one) => one.key).join(", ");
  return invalid(`no choice ${JSON.stringify(choice.slice(0, 40))} in this dialog: there are ${known}`);
}

const unsure = (reason: string): Answer => ({ type: "unsure", reason });
const invalid = (reason: string): Answer => ({ type: "refused", kind: "invalid", reason });
const cannot = (reason: string): Answer => ({ type: "refused", kind: "unimplemented", reason });
