import { DomainError } from "../../../internal/base/errors.ts";
import { PrintableText, printable } from "../../../internal/base/printable-text.ts";
import { foldedLine } from "../../../internal/base/sanitise.ts";
import { isoTime } from "../../../internal/base/text/iso-time.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import type { Dialog, RespondResult } from "../../../internal/session/types.ts";
import { type FoundAgent, withAgent } from "../../../internal/terminal/places/with-agent.ts";
import { dialogLines } from "../common/text/dialog-text.ts";
import { chosenKey } from "./choose-answer.ts";
import type { RespondFlags } from "./respond-flags.ts";
import { type RespondOptions, readRespond } from "./respond-options.ts";

const REFUSED = 6;
const UNVERIFIED = 7;
/** An agent may report that it waits before its dialog is on the screen. */
const DRAWN_MS = 1500;
const LOOK_MS = 100;

export async function runRespond(given: Given<RespondFlags>, context: CommandContext): Promise<number> {
  const command = readRespond(given, context.env);
  return await withAgent(command.place, command.agent, context, async (found) => {
    try {
      const dialog = await openDialog(command, found, context);
      if (command.choice === undefined && command.text === undefined) return show(dialog, command, found, context);
      return await answer(dialog, command, found, context);
    } catch (err) {
      if (!(err instanceof DomainError) || err.kind !== "precondition") throw err;
      return refused(err, command, found, context);
    }
  });
}

async function openDialog(
  command: RespondOptions,
  { backend }: FoundAgent,
  { clock, signal }: CommandContext,
): Promise<Dialog> {
  const end = clock.monotonicMs() + DRAWN_MS;
  let status = await backend.status(signal);
  while (status.state === "dialog" && status.dialog === undefined && clock.monotonicMs() < end) {
    await clock.sleep(LOOK_MS, signal);
    status = await backend.status(signal);
  }
  const { dialog, state } = status;
  if (dialog === undefined) {
    const why =
      state === "dialog" ? "it is waiting for a person, and its dialog cannot be read" : `no dialog is open (${state})`;
    throw new DomainError("precondition", why, { fields: { dialog_id: "" } });
  }
  if (command.dialogId !== undefined && command.dialogId !== dialog.id) {
    throw new DomainError("precondition", "another dialog is open", { fields: { dialog_id: dialog.id } });
  }
  return dialog;
}

function show(dialog: Dialog, command: RespondOptions, found: FoundAgent, { out }: CommandContext): number {
  if (command.json) {
    const { since, ...rest } = dialog;
    out.line(
      PrintableText.json({
        agent: found.agent,
        where: found.backend.where,
        dialog: { ...rest, since: isoTime(since) },
      }),
    );
  } else {
    const name = command.agent;
    for (const line of dialogLines(dialog, name, command.place)) out.line(printable`${line}`);
  }
  return 0;
}

async function answer(
  dialog: Dialog,
  command: RespondOptions,
  found: FoundAgent,
  context: CommandContext,
): Promise<number> {
  const { text, requestId } = command;
  const choice = command.choice === undefined ? "" : chosenKey(dialog, command.choice);
  const request = { dialogId: dialog.id, choice, requestId, text };
  const result = await found.backend.respond(request, context.signal);
  const label = dialog.choices.find((one) => one.key === choice)?.label;
  return report(result, label === undefined ? "with a text" : `with ${foldedLine(label)}`, {
    dialog,
    command,
    found,
    context,
  });
}

interface AnswerReport {
  readonly dialog: Dialog;
  readonly command: RespondOptions;
  readonly found: FoundAgent;
  readonly context: CommandContext;
}

function report({ outcome, evidence }: RespondResult, answer: string, from: AnswerReport): number {
  const { dialog, command, found, context } = from;
  const code = outcome === "answered" ? 0 : outcome === "changed" ? REFUSED : UNVERIFIED;
  if (command.json) {
    const items = evidence.map(({ ageMs, ...rest }) => ({ ...rest, age_ms: ageMs }));
    const { agent, backend } = found;
    context.out.line(
      PrintableText.json({ agent, where: backend.where, outcome, dialog_id: dialog.id, evidence: items }),
    );
    return code;
  }
  const name = foldedLine(found.agent);
  const look = `${found.line("respond")} shows the current dialog`;
  if (outcome === "answered") {
    const { out } = context;
    out.line(printable`${out.paint("green", "✓")} answered ${name} ${answer}`);
    for (const one of evidence)
      out.line(out.paint("dim", `  ${one.confidence}: ${foldedLine(one.value)} (${one.source})`));
  } else if (outcome === "changed") {
    context.error(`answered ${name} ${answer}, and another dialog is open now`, look);
  } else {
    const why = evidence.map((one) => foldedLine(one.value)).join("; ");
    context.error(`not certain that ${name} was answered ${answer}: ${why}`, `${look}; gt does not press a key twice`);
  }
  return code;
}

function refused(err: DomainError, command: RespondOptions, found: FoundAgent, context: CommandContext): number {
  const current = String(err.fields["dialog_id"] ?? "");
  if (command.json) {
    const { agent, backend } = found;
    context.out.line(
      PrintableText.json({
        agent,
        where: backend.where,
        outcome: "refused",
        error: err.message,
        current_dialog_id: current,
      }),
    );
    return REFUSED;
  }
  const name = foldedLine(found.agent);
  const hint =
    current === ""
      ? `${found.line("status")} shows what it does`
      : `${found.line("respond")} shows the dialog that is open`;
  context.error(`${name} was not answered: ${err.message}`, hint);
  return REFUSED;
}
