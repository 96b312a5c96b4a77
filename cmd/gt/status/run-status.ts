import { DomainError } from "../../../internal/base/errors.ts";
import { PrintableText } from "../../../internal/base/printable-text.ts";
import { present } from "../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import type { Backend } from "../../../internal/terminal/backend.ts";
import { podText } from "../../../internal/terminal/finding/agent-pods.ts";
import { type KnownAgent, noAgentHere } from "../../../internal/terminal/finding/known-agents.ts";
import {
  listPlaces,
  type Place,
  placeAuthority,
  placeOfPod,
  splitListen,
} from "../../../internal/terminal/finding/resolve-place.ts";
import { agentsHere } from "../../../internal/terminal/places/agents-here.ts";
import { isControlPlane, namesOneAgent, readPlace } from "../../../internal/terminal/places/place-config.ts";
import { withAgent } from "../../../internal/terminal/places/with-agent.ts";
import type { OpenDeps } from "../../../internal/terminal/resolve.ts";
import { gtArguments, gtUsageError } from "../common/command/arguments.ts";
import { type StatusRow, statusBlock, statusJson } from "../common/text/status-text.ts";
import type { StatusFlags } from "./status-flags.ts";
import type { StatusOptions } from "./status-options.ts";
import { statusTable } from "./status-table.ts";

const AT_ONCE = 8;
const PATIENCE_MS = 5000;

export async function runStatus(given: Given<StatusFlags>, context: CommandContext): Promise<number> {
  const command = readStatus(given, context.env);
  const { place, agent } = command;
  if (command.follow && !isControlPlane(place))
    throw gtUsageError("status", "--follow needs a control plane (--server, GT_SERVER); gt watch follows one agent");
  const ofSessions = isControlPlane(place) && (command.follow || agent === undefined);
  if (ofSessions) return await (await import("./session-status.ts")).sessionStatus(command, context);
  if (agent === undefined && !namesOneAgent(place)) return await overview(command, context);
  return await withAgent(place, agent ?? "", context, async (found) => {
    const answer = await found.backend.status(context.signal);
    const name = agent === undefined && answer.agent !== "" ? answer.agent : found.agent;
    const row = { type: "status", agent: name, where: found.backend.where, status: answer } as const;
    const { out, clock } = context;
    if (command.json) out.line(PrintableText.json(statusJson(row)));
    else {
      const asked = { agent: agent ?? name, place };
      out.line(statusBlock(row, clock.now(), (style, text) => out.paint(style, text), asked));
    }
    return 0;
  });
}

function readStatus({ values, positionals }: Given<StatusFlags>, env: CommandContext["env"]): StatusOptions {
  const [agent] = gtArguments("status", positionals, [], ["agent"]);
  const { json = false, follow = false } = values;
  return { place: readPlace(values, env), json, follow, ...present({ agent: agent || undefined }) };
}

async function overview(command: StatusOptions, context: CommandContext): Promise<number> {
  const deps = await agentsHere(command.place, context);
  const { agents: known, otherSessions } = await listPlaces(deps, command.place, context.signal);
  const rows: StatusRow[] = new Array(known.length);
  const waiting = known.entries();
  const worker = async () => {
    for (const [index, agent] of waiting) rows[index] = await ask(agent, deps, context.signal);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const { out, clock } = context;
  const columns = out.isTTY ? out.columns : Number.POSITIVE_INFINITY;
  if (command.json) out.line(PrintableText.json(rows.map(statusJson)));
  else if (rows.length === 0)
    context.note(`${noAgentHere(otherSessions)}; gt status --host HOST asks a sidecar elsewhere`);
  else out.line(statusTable(rows, clock.now(), columns, (style, text) => out.paint(style, text)));
  return 0;
}

/** One row of the overview; the row of an agent that does not answer says so. */
async function ask(agent: KnownAgent, deps: OpenDeps, signal: AbortSignal): Promise<StatusRow> {
  const where = locationOf(agent);
  const patience = AbortSignal.timeout(PATIENCE_MS);
  try {
    await using backend = await open(placeOf(agent), deps);
    const answer = await backend.status(AbortSignal.any([signal, patience]));
    return { type: "status", agent: agent.agent, where: backend.where, status: answer };
  } catch (err) {
    if (signal.aborted) throw signal.reason;
    if (patience.aborted)
      return { type: "failed", agent: agent.agent, where, reason: `no answer in ${PATIENCE_MS} ms` };
    if (!(err instanceof DomainError)) throw err;
    return { type: "failed", agent: agent.agent, where, reason: err.message };
  }
}

function open(place: Place, deps: OpenDeps): Promise<Backend> {
  return place.type === "tmux" ? deps.openTmux(place) : deps.openSidecar(place);
}

function locationOf(agent: KnownAgent): string {
  if (agent.type === "pod") return podText(agent.pod);
  const place = placeOf(agent);
  return place.type === "tmux" ? `tmux ${place.session}` : placeAuthority(place);
}

/**
 * @throws DomainError for a pod that cannot be reached, with the cluster's reason
 */
function placeOf(agent: KnownAgent): Place {
  if (agent.type === "pod") return placeOfPod(agent.pod, false);
  if (agent.type === "tmux") {
    const { socketPath, session } = agent;
    return { type: "tmux", agent: agent.agent, socketPath, session, muted: false };
  }
  const { listen, tls } = agent.sidecar;
  return { type: "sidecar", agent: agent.agent, ...splitListen(listen), tls, source: "this machine", muted: false };
}
