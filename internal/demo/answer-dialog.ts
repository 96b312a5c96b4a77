import { choiceLabels, MODELS } from "./dialogs.ts";
import type { Key } from "./key-decoder.ts";
import { type DemoDialog, line, print, type Work } from "./model.ts";
import { interruptTurn, resumeTurn } from "./turn.ts";

/** A key while a dialog is open. One digit chooses; text in a burst and pastes do nothing, as in real agents. */
export function pressInDialog(work: Work, dialog: DemoDialog, key: Key): void {
  if (key.type === "paste") return;
  const { field } = dialog;
  const inField = field !== undefined && dialog.selected === dialog.choices.length - 1;
  if (inField && key.type === "text") {
    work.s.dialog = { ...dialog, field: field + key.text };
    return;
  }
  if (inField && field === "" && key.type === "key" && key.name === "enter") return;
  if (key.type === "text") {
    const index = /^[1-9]$/.test(key.text) ? Number(key.text) - 1 : -1;
    if (field !== undefined && index === dialog.choices.length - 1) work.s.dialog = { ...dialog, selected: index };
    else if (index >= 0 && index < dialog.choices.length) choose(work, dialog, index);
    return;
  }
  const count = dialog.choices.length;
  if (key.name === "up") work.s.dialog = { ...dialog, selected: (dialog.selected + count - 1) % count };
  if (key.name === "down") work.s.dialog = { ...dialog, selected: (dialog.selected + 1) % count };
  if (key.name === "enter") choose(work, dialog, dialog.selected);
  if (key.name === "escape") cancel(work, dialog);
}

function choose(work: Work, dialog: DemoDialog, index: number): void {
  work.s.dialog = undefined;
  const { purpose } = dialog;
  const label = choiceLabels(dialog)[index] ?? "";
  switch (purpose.type) {
    case "trust":
      if (index === 1) work.effects.push({ type: "exit", code: 1 });
      return;
    case "permission":
      decidePermission(work, purpose.command, index);
      return;
    case "question":
      print(work, line(`● ${purpose.question}`, "accent"), line(`  ⎿ ${label}`, "dim"));
      resumeTurn(work);
      return;
    case "model":
      work.s.model = MODELS[index] ?? work.s.model;
      print(work, line(`  model is now ${work.s.model}`, "dim"));
      resumeTurn(work);
      return;
  }
}

function decidePermission(work: Work, command: string, index: number): void {
  print(work, line(`● Bash(${command})`, "accent"));
  if (index === 2) {
    print(work, line("  ⎿ Not allowed", "error"));
  } else {
    if (index === 1) work.s.allowAll = true;
    work.effects.push({ type: "tool", text: command });
    print(work, line("  ⎿ Allowed (the demo agent only writes it down)", "dim"));
  }
  resumeTurn(work);
}

function cancel(work: Work, dialog: DemoDialog): void {
  work.s.dialog = undefined;
  if (dialog.purpose.type === "trust") work.effects.push({ type: "exit", code: 1 });
  if (dialog.purpose.type === "permission" || dialog.purpose.type === "question") {
    print(work, line(`  ⎿ ${dialog.title} Cancelled`, "error"));
    interruptTurn(work);
  }
  if (dialog.purpose.type === "model") resumeTurn(work);
}
