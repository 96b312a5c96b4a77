import { modelDialog, openDialog } from "./dialogs.ts";
import { line, print, type Work } from "./model.ts";

const HELP = [
  "  /help    this list            /clear   forget the conversation",
  "  /model   choose a model       /status  what it is doing",
  "  /exit    quit                 !cmd     shell mode (runs nothing, writes it down)",
  "  run: CMD asks for permission · ask: Q|A|B asks a question · lines: N answers with N lines",
];

/** Runs the agent's own commands (first character `/` or `!`); returns false for a message. */
export function runOwnCommand(work: Work, text: string): boolean {
  if (text.startsWith("!")) {
    const command = text.slice(1).trim();
    work.effects.push({ type: "tool", text: `shell: ${command}` });
    print(work, line(`! ${command}`, "accent"), line("  ⎿ (shell mode: the demo agent runs nothing)", "dim"));
    return true;
  }
  const slash = /^\s*(\/\S*)/.exec(text)?.[1];
  if (slash === undefined) return false;
  print(work, line(`> ${text.split("\n")[0]}`, "dim"));
  switch (slash) {
    case "/help":
      print(work, ...HELP.map((row) => line(row, "dim")));
      return true;
    case "/clear":
      work.s.transcript = [];
      work.s.contextPercent = 12;
      work.effects.push({ type: "clear" });
      return true;
    case "/model":
      openDialog(work, modelDialog(work.s.model));
      return true;
    case "/exit":
      work.effects.push({ type: "exit", code: 0 });
      return true;
    case "/status":
      print(work, line(`  ${statusText(work)}`, "dim"));
      return true;
    default:
      print(work, line(`  ⎿ Unknown command: ${slash}`, "error"));
      return true;
  }
}

function statusText(work: Work): string {
  const { model, turns, queue, turn } = work.s;
  return `model ${model} · ${turns} turns · ${queue.length} queued · ${turn === undefined ? "idle" : "working"}`;
}
