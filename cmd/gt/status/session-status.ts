import { PrintableText, printable } from "../../../internal/base/printable-text.ts";
import { foldedLine } from "../../../internal/base/sanitise.ts";
import { isoTime } from "../../../internal/base/text/iso-time.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import {
  type GetSessionResponse,
  SessionStatus,
  type SessionUpdate,
} from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import { type OpenBridge, openBridge } from "../../../internal/terminal/places/open-bridge.ts";
import { agentStatusOf } from "../../../internal/wire/status.ts";
import { sessionJson, statusWord } from "../common/text/session-text.ts";
import { type StatusRow, statusJson } from "../common/text/status-text.ts";
import { connectAgain } from "../common/text/watch-again.ts";
import type { StatusOptions } from "./status-options.ts";
import { statusTable } from "./status-table.ts";

const AT_ONCE = 8;

/** The sessions of a control plane, once or as they change. */
export async function sessionStatus(command: StatusOptions, context: CommandContext): Promise<number> {
  using bridge = await openBridge(command.place, context.clock);
  return command.follow ? await follow(bridge, command, context) : await overview(bridge, command, context);
}

async function overview(bridge: OpenBridge, { json }: StatusOptions, context: CommandContext): Promise<number> {
  const { out, clock, note, signal } = context;
  const sessions = (await bridge.sessions(signal, note)).filter(isLive);
  const rows: StatusRow[] = new Array(sessions.length);
  const waiting = sessions.entries();
  const worker = async () => {
    for (const [index, session] of waiting) rows[index] = await ask(bridge, session, signal);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const columns = out.isTTY ? out.columns : Number.POSITIVE_INFINITY;
  if (json) out.line(PrintableText.json(rows.map(statusJson)));
  else if (rows.length === 0) note(`no session is running at ${bridge.server}; gt agents also lists ended ones`);
  else out.line(statusTable(rows, clock.now(), columns, (style, text) => out.paint(style, text)));
  return 0;
}

async function ask(
  bridge: OpenBridge,
  { sessionId, agent }: GetSessionResponse,
  signal: AbortSignal,
): Promise<StatusRow> {
  const name = agent || sessionId;
  const backend = bridge.backend(sessionId);
  try {
    return { type: "status", agent: name, where: bridge.server, status: await backend.status(signal) };
  } catch (err) {
    if (signal.aborted || !(err instanceof Error)) throw err;
    return { type: "failed", agent: name, where: bridge.server, reason: err.message };
  }
}

function isLive({ status }: GetSessionResponse): boolean {
  return status !== SessionStatus.STOPPED && status !== SessionStatus.FAILED;
}

/**
 * Prints one line, or one object, for each change, until it is stopped or the requested session is gone. Continues past
 * a restart of the control plane, and then shows the state of each session again.
 */
async function follow(bridge: OpenBridge, { agent, json }: StatusOptions, context: CommandContext): Promise<number> {
  const { signal, out, note, clock } = context;
  const only = agent === undefined ? undefined : (await bridge.find(agent, signal)).id;
  if (only === undefined) await bridge.sessions(signal);
  let opened = 0;
  const open = async function* () {
    // The session may have gone while the control plane was away: no update would report that.
    if (opened++ > 0 && only !== undefined) await bridge.find(only, signal);
    yield* bridge.stream(signal, (client, options) => client.watchSessions({}, options));
  };
  for await (const update of connectAgain(open, { clock, signal, lost: note, back: note }, true)) {
    if (update.gap !== undefined) note("some changes were skipped; the following state is current");
    const { session } = update;
    if (session === undefined || (only !== undefined && session.sessionId !== only)) continue;
    if (json) out.line(PrintableText.json(updateJson(update, session)));
    else out.line(printable`${out.paint("dim", isoTime(clock.now()))} ${updateText(update, session)}`);
    if (update.gone && only !== undefined) return 0;
  }
  return 0;
}

function updateText({ status, gone }: SessionUpdate, session: GetSessionResponse): string {
  const { sessionId, agent, provider, error } = session;
  const name = agent === "" ? sessionId : `${agent} (${sessionId})`;
  const state = gone ? "gone" : statusWord(session.status);
  const does = status === undefined || gone || !isLive(session) ? "" : `, ${agentStatusOf(status).state}`;
  return foldedLine(`${name} ${provider}: ${state}${does}${error === "" ? "" : `: ${error}`}`);
}

function updateJson({ status, gone, seq, epoch }: SessionUpdate, session: GetSessionResponse): Record<string, unknown> {
  return {
    ...sessionJson(session),
    state: status && agentStatusOf(status).state.replaceAll("-", "_"),
    gone: gone || undefined,
    watch_seq: String(seq),
    watch_epoch: epoch,
  };
}
