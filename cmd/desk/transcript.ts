import { join } from "node:path";
import { DomainError } from "../../internal/base/errors.ts";
import { PrintableText, printable } from "../../internal/base/printable-text.ts";
import { takeArguments } from "../../internal/cli/command/arguments.ts";
import type { Command } from "../../internal/cli/command/command.ts";
import type { Output } from "../../internal/cli/output.ts";
import { readTranscript, type TurnRecord } from "../../internal/desk/supervisor/transcript.ts";
import { ruleText, withMargin } from "./admin-printer.ts";
import { DESK_FLAGS, placeOptions } from "./config.ts";
import { findDesk } from "./configuration.ts";

const flags = {
  ...DESK_FLAGS,
  thread: { type: "string", value: "NAME", help: "only this conversation of the administrator" },
  json: { type: "boolean", help: "print each turn as a JSON line" },
} as const;

export const transcript: Command<typeof flags> = {
  name: "transcript",
  flags,
  help: {
    usage: "",
    summary: "what crossed and what was withheld, turn by turn",
    text: "Prints the administrator's turns: the input, the decision and its rule, what crossed byte for byte, what was withheld (names and sizes only), and which files were read or refused. It reads beside a running desk.",
    notes: "Exit codes: 0 done; 3 no such thread.",
    examples: ["desk transcript", "desk transcript --thread main --json | jq .crossing"],
  },
  completion: [],
  async run({ values, positionals }, { out, stdout }) {
    takeArguments("desk transcript", positionals, []);
    const { stateDir } = findDesk(placeOptions(values), process.cwd());
    const all = readTranscript(join(stateDir, "back", "journal.jsonl"));
    const turns = values.thread === undefined ? all : all.filter(({ thread }) => thread === values.thread);
    if (turns.length === 0 && values.thread !== undefined) {
      throw new DomainError("not-found", `there is no thread ${JSON.stringify(values.thread)}`, {
        fields: { hint: `threads: ${[...new Set(all.map(({ thread }) => thread))].join(", ") || "none yet"}` },
      });
    }
    for (const turn of turns) {
      if (values.json) stdout.write(`${PrintableText.json(turn)}\n`);
      else printTurn(out, turn);
    }
    return 0;
  },
};

function printTurn(out: Output, turn: TurnRecord): void {
  const { decision, crossing, reads, withheld } = turn;
  out.line(printable`${turn.at}  thread ${turn.thread}  turn ${turn.turn}  ${turn.outcome}`);
  withMargin(out, "  input   ", turn.input);
  if (decision) out.line(printable`  decision │ ${decision.route} (${ruleText(decision.rule)}: ${decision.reason})`);
  for (const { path, ok, reason = "", bytes = 0 } of reads)
    out.line(printable`  read     │ ${path}: ${ok ? `${bytes} bytes` : reason}`);
  if (crossing) {
    const { bytes, sha256, thread, outcome, reason } = crossing;
    out.line(
      printable`  crossed  │ ${bytes} bytes to ${thread}: ${outcome}${reason === undefined ? "" : ` (${reason})`}`,
    );
    withMargin(out, "          ", crossing.admin_input);
    out.line(printable`           │ sha256 ${sha256}`);
  } else out.line(printable`  crossed  │ nothing`);
  const sizes = withheld.map(({ channel, bytes }) => `${channel} ${bytes}`).join(", ");
  out.line(printable`  withheld │ ${sizes === "" ? "unknown: the turn was cut" : `${sizes} (bytes)`}`);
  if (turn.reply !== undefined) withMargin(out, "  customer", turn.reply);
  out.line();
}
