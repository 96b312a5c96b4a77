import type { Given } from "../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import { durationText } from "../../../internal/cli/wording.ts";
import type { AgentStateName, NudgeReceipt } from "../../../internal/session/types.ts";
import { NudgeInterruptedError } from "../../../internal/terminal/nudge-interrupted-error.ts";
import { ownSessionStart } from "../../../internal/terminal/places/tmux-sessions.ts";
import { type FoundAgent, withAgent } from "../../../internal/terminal/places/with-agent.ts";
import { printReceipt } from "../common/text/print-receipt.ts";
import type { NudgeFlags } from "./nudge-flags.ts";
import { checkSize, MAX_MESSAGE_BYTES, messageIn, type NudgeOptions, readNudge } from "./nudge-options.ts";

/** The limit for `--if-fresh`, as in the upstream `gt`. */
const FRESH_SECONDS = 60;
const NOT_DELIVERED = 6;
const UNVERIFIED = 7;
const STATE_MS = 3000;
/** The states as the end of a sentence. */
const STATES: Readonly<Record<AgentStateName, string>> = {
  starting: "starting",
  idle: "idle",
  busy: "busy",
  dialog: "waiting in a dialog",
  parked: "parked by a limit",
  stopping: "stopping",
  dead: "dead",
  "crash-loop": "in a crash loop",
  stalled: "stalled",
  uncertain: "in an uncertain state",
};

export async function runNudge(given: Given<NudgeFlags>, context: CommandContext): Promise<number> {
  const command = readNudge(given, context.env);
  const message = command.message ?? (await readStdin(context));
  checkSize(message);
  if (command.ifFresh && !(await isFresh(command, context))) {
    context.note(`nothing was sent: the tmux session you call from is older than ${FRESH_SECONDS} s (--if-fresh)`);
    return 0;
  }
  return withAgent(command.place, command.agent, context, async (found) => {
    if (found.place.muted && !command.force) return doNotDisturb(found, context);
    try {
      const code = printReceipt(await deliver(command, message, found, context.signal), command.json, found, context);
      if (code === NOT_DELIVERED && !command.json) await noteState(found, context);
      return code;
    } catch (err) {
      if (!(err instanceof NudgeInterruptedError)) throw err;
      context.error(err.message, String(err.fields["hint"] ?? ""));
      return UNVERIFIED;
    }
  });
}

function deliver(
  command: NudgeOptions,
  message: string,
  found: FoundAgent,
  signal: AbortSignal,
): Promise<NudgeReceipt> {
  const { requestId, mode, timeoutMs, sender, priority } = command;
  return found.backend.nudge({ message, requestId, mode, timeoutMs, sender, priority, ttlMs: 0 }, signal);
}

/** For an agent whose bead has `notification_level: muted`: reports a refusal, as for an agent with an open dialog. */
function doNotDisturb(found: FoundAgent, context: CommandContext): number {
  context.error(`not delivered to ${found.agent}: it does not want to be disturbed`, "--force delivers it anyway");
  return NOT_DELIVERED;
}

/** Prints the agent program and its state beside a refusal; nothing if the status is not available. */
async function noteState({ agent, backend }: FoundAgent, { note, signal, clock }: CommandContext): Promise<void> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(STATE_MS)]);
  const status = await backend.status(patience).catch(() => undefined);
  if (status === undefined || !status.alive) return; // the refusal says that it has ended
  const since = status.stateSince > 0 ? ` for ${durationText(clock.now() - status.stateSince)}` : "";
  const dialog = status.dialog === undefined ? "" : `: ${status.dialog.kind}, ${status.dialog.title}`;
  note(`${status.provider} in ${agent} is ${STATES[status.state]}${since}${dialog}`);
}

/** True if the caller's tmux session is new. Also true outside of tmux, where there is no session that has an age. */
async function isFresh(command: NudgeOptions, context: CommandContext): Promise<boolean> {
  const began = await ownSessionStart(command.place, context.signal);
  return began === undefined || context.clock.now() / 1000 - began <= FRESH_SECONDS;
}

/** Reads stdin without the line feeds at its end; stops a little above the size limit of a message. */
async function readStdin({ stdin, signal }: CommandContext): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  const stop = () => stdin.destroy(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    for await (const chunk of stdin) {
      const bytes = Buffer.from(chunk);
      chunks.push(bytes);
      size += bytes.length;
      if (size > 2 * MAX_MESSAGE_BYTES) break;
    }
  } finally {
    signal.removeEventListener("abort", stop);
  }
  return messageIn(Buffer.concat(chunks));
}
