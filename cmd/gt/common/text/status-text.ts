import { PrintableText, printable } from "../../../../internal/base/printable-text.ts";
import { foldedLine } from "../../../../internal/base/sanitise.ts";
import { isoTime } from "../../../../internal/base/text/iso-time.ts";
import { durationText } from "../../../../internal/cli/wording.ts";
import type { AgentStatus } from "../../../../internal/session/agent-status.ts";
import type { AgentStateName, BackgroundTask } from "../../../../internal/session/types.ts";
import type { PlaceConfig } from "../../../../internal/terminal/places/place-config.ts";
import { dialogLines } from "./dialog-text.ts";

/** One agent of an overview: its status, or the reason why there is none. */
export type StatusRow =
  | { readonly type: "status"; readonly agent: string; readonly where: string; readonly status: AgentStatus }
  | { readonly type: "failed"; readonly agent: string; readonly where: string; readonly reason: string };

export type Paint = (style: "bold" | "dim" | "red" | "green" | "yellow" | "cyan", text: string) => PrintableText;

/** The colour of each state. */
export const STATE_STYLES: Readonly<Record<AgentStateName, Parameters<Paint>[0]>> = {
  starting: "cyan",
  idle: "green",
  busy: "cyan",
  dialog: "yellow",
  parked: "yellow",
  stopping: "dim",
  dead: "red",
  "crash-loop": "red",
  stalled: "red",
  uncertain: "dim",
};

const MAX_EVIDENCE = 5;
const MAX_TASKS = 10;

/** One agent's status on a few lines. `now` is the wall clock, ms; `asked`: the words and flags of the call. */
export function statusBlock(
  row: StatusRow & { readonly type: "status" },
  now: number,
  paint: Paint,
  asked: { readonly agent: string; readonly place: PlaceConfig },
): PrintableText {
  const { status, agent, where } = row;
  const comma = status.background.length > 0 ? "," : "";
  const since = status.stateSince > 0 ? `${comma} for ${durationText(now - status.stateSince)}` : "";
  const state = paint(STATE_STYLES[status.state], status.state);
  const lines = [printable`${paint("bold", foldedLine(agent))}  ${state}${behindText(status)}${since}`];
  const add = (name: string, text: string) => lines.push(printable`  ${paint("dim", name.padEnd(12))}${text}`);
  const dialog = status.dialog === undefined ? [] : dialogLines(status.dialog, asked.agent, asked.place);
  for (const [index, line] of dialog.entries()) add(index === 0 ? "dialog" : "", line);
  if (status.why !== undefined) add("reason", foldedLine(status.why));
  add("process", processText(status));
  add("last output", status.lastOutputAt === undefined ? "none yet" : `${durationText(now - status.lastOutputAt)} ago`);
  add("queue", status.queueDepth === 0 ? "empty" : `${status.queueDepth} waiting`);
  for (const [index, task] of status.background.slice(0, MAX_TASKS).entries())
    add(index === 0 ? "background" : "", backgroundText(task, now));
  if (status.background.length > MAX_TASKS) add("", `and ${status.background.length - MAX_TASKS} more`);
  if (status.parkedUntil !== undefined) add("parked", `until ${isoTime(status.parkedUntil)}`);
  if (status.draft) add("composer", "holds text that was not sent");
  if (status.cols > 0)
    add("terminal", `${status.cols}x${status.rows}${status.attached > 0 ? `, ${status.attached} attached` : ""}`);
  for (const [index, one] of status.evidence.slice(0, MAX_EVIDENCE).entries()) {
    add(
      index === 0 ? "evidence" : "",
      `${foldedLine(one.value)} (${one.source}, ${one.confidence}, ${durationText(one.ageMs)} old)`,
    );
  }
  const session = [
    status.provider,
    status.sessionId && `session ${status.sessionId}`,
    status.projectId && `project ${status.projectId}`,
  ];
  add("where", [foldedLine(where), ...session.filter(Boolean).map((part) => foldedLine(part ?? ""))].join(", "));
  const versions = Object.entries(status.versions).map(([name, version]) => foldedLine(`${name} ${version}`));
  if (versions.length > 0) add("versions", versions.join(", "));
  return PrintableText.lines(lines);
}

/** The complete status as a JSON object. */
export function statusJson(row: StatusRow): Record<string, unknown> {
  if (row.type === "failed") return { agent: row.agent, where: row.where, reachable: false, error: row.reason };
  const { status } = row;
  return {
    agent: row.agent,
    where: row.where,
    reachable: true,
    alive: status.alive,
    reason: status.why,
    state: status.state.replaceAll("-", "_"),
    state_since: status.stateSince > 0 ? isoTime(status.stateSince) : undefined,
    dialog: status.dialog && { ...status.dialog, since: isoTime(status.dialog.since) },
    evidence: status.evidence.map(({ ageMs, ...rest }) => ({ ...rest, age_ms: ageMs })),
    agent_pid: status.agentPid,
    exit_code: status.exitCode,
    restarts: status.restarts,
    uptime_seconds: status.uptimeSeconds,
    last_output_at: status.lastOutputAt === undefined ? undefined : isoTime(status.lastOutputAt),
    queue_depth: status.queueDepth,
    attached: status.attached,
    draft: status.draft,
    parked_until: status.parkedUntil === undefined ? undefined : isoTime(status.parkedUntil),
    background: status.background.map(({ since, ...task }) => ({
      ...task,
      since: since > 0 ? isoTime(since) : undefined,
    })),
    cols: status.cols,
    rows: status.rows,
    epoch: status.epoch,
    own_address: status.agent,
    session_id: status.sessionId,
    project_id: status.projectId,
    provider: status.provider,
    versions: status.versions,
  };
}

/** The text after the state: `, 2 in the background`. Empty without background tasks. */
export function behindText({ background }: AgentStatus): string {
  return background.length === 0 ? "" : `, ${background.length} in the background`;
}

function backgroundText({ kind, title, since }: BackgroundTask, now: number): string {
  const named = title === "" ? kind : `${kind}: ${foldedLine(title)}`;
  return `${named} (for ${durationText(now - since)})`;
}

function processText(status: AgentStatus): string {
  const restarts = status.restarts === 0 ? "" : `, ${status.restarts} restart${status.restarts === 1 ? "" : "s"}`;
  const pid = status.agentPid === 0 ? "" : `pid ${status.agentPid}, `;
  if (status.alive) return `${pid}up ${durationText(status.uptimeSeconds * 1000)}${restarts}`;
  return `ended${status.exitCode === undefined ? "" : ` with exit code ${status.exitCode}`}${restarts}`;
}
