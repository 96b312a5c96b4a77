import type { DemoDialog, DialogPurpose, Work } from "./model.ts";

export const MODELS: readonly string[] = ["demo", "demo-large", "demo-small"];

const HOOK_REASONS: Readonly<Record<DialogPurpose["type"], string>> = {
  trust: "trust",
  permission: "permission",
  question: "question",
  model: "picker",
};

export function trustDialog(): DemoDialog {
  return {
    purpose: { type: "trust" },
    title: "Do you trust the files in this folder?",
    body: ["The demo agent reads and writes nothing, but asks as others do."],
    choices: ["Yes, proceed", "No, exit"],
    selected: 0,
  };
}

export function permissionDialog(command: string): DemoDialog {
  return {
    purpose: { type: "permission", command },
    title: "Allow this command?",
    body: [`  ${command}`],
    choices: ["Yes", "Yes, and do not ask again", "No"],
    selected: 0,
  };
}

/** A last choice `...` becomes a field for a free answer. */
export function questionDialog(question: string, choices: readonly string[]): DemoDialog {
  const dialog = { purpose: { type: "question", question }, title: question, body: [], choices, selected: 0 } as const;
  return choices.at(-1) === "..." ? { ...dialog, field: "" } : dialog;
}

/** The choices as they are on the screen. */
export function choiceLabels({ choices, field }: DemoDialog): readonly string[] {
  return field === undefined ? choices : [...choices.slice(0, -1), field === "" ? "Type something." : field];
}

export function modelDialog(current: string): DemoDialog {
  return {
    purpose: { type: "model" },
    title: "Choose a model",
    body: [],
    choices: MODELS,
    selected: Math.max(0, MODELS.indexOf(current)),
  };
}

export function openDialog(work: Work, dialog: DemoDialog): void {
  work.s.dialog = dialog;
  work.effects.push({ type: "hook", line: { type: "waiting", reason: HOOK_REASONS[dialog.purpose.type] } });
}
