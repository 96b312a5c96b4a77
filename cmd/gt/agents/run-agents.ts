import { PrintableText, printable } from "../../../internal/base/printable-text.ts";
import { plainText } from "../../../internal/base/sanitise.ts";
import { isoTime } from "../../../internal/base/text/iso-time.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import { type AgentPod, podText } from "../../../internal/terminal/finding/agent-pods.ts";
import { type KnownAgent, noAgentHere } from "../../../internal/terminal/finding/known-agents.ts";
import { listPlaces } from "../../../internal/terminal/finding/resolve-place.ts";
import { agentsHere } from "../../../internal/terminal/places/agents-here.ts";
import { type ClusterConfig, isControlPlane, readPlace } from "../../../internal/terminal/places/place-config.ts";
import { gtArguments } from "../common/command/arguments.ts";
import { alignedTable } from "../common/text/aligned-table.ts";
import type { AgentsFlags } from "./agents-flags.ts";

export async function runAgents(given: Given<AgentsFlags>, context: CommandContext): Promise<number> {
  gtArguments("agents", given.positionals, []);
  const { json = false, quiet = false } = given.values;
  const place = readPlace(given.values, context.env);
  if (isControlPlane(place)) return await (await import("./run-sessions.ts")).runSessions(place, given.values, context);
  const deps = await agentsHere(place, context);
  const { agents: known, otherSessions } = await listPlaces(deps, place, context.signal);
  const { out } = context;
  if (json) out.line(PrintableText.json(known.map(agentJson)));
  else if (quiet) for (const one of known) out.line(printable`${one.agent}`);
  else if (known.length === 0) context.note(nothing(place.cluster, otherSessions));
  else for (const line of table(known)) out.line(printable`${line}`);
  return 0;
}

function nothing(cluster: ClusterConfig | undefined, otherSessions: readonly string[]): string {
  const where =
    cluster &&
    `${cluster.namespace === undefined ? "" : `namespace ${cluster.namespace} of `}context ${JSON.stringify(cluster.context)}`;
  if (cluster?.only) return `no agent is running in ${where}`;
  const also = where === undefined ? "" : `, and in ${where}`;
  if (otherSessions.length > 0) return `${noAgentHere(otherSessions)}${also}`;
  return `no agent is running here; gt looks for local tmux sessions and sidecars on this machine${also}`;
}

/** Only a pod's state is known without asking the agent. */
function table(known: readonly KnownAgent[]): readonly string[] {
  if (!known.some(({ type }) => type === "pod")) {
    return alignedTable([["AGENT", "PROVIDER", "WHERE"], ...known.map(agentCells)]);
  }
  const rows = known.map((one) => {
    const [agent = "", provider = "", ...where] = agentCells(one);
    return [agent, provider, one.type === "pod" ? statusOf(one.pod) : "-", ...where];
  });
  return alignedTable([["AGENT", "PROVIDER", "STATUS", "WHERE"], ...rows]);
}

function statusOf({ status, reason }: AgentPod): string {
  return plainText(reason === "" ? status : `${status} (${reason})`);
}

function agentCells(one: KnownAgent): readonly string[] {
  if (one.type === "pod") {
    const { provider, session, node } = one.pod;
    const at = node === "" ? "" : ` on ${node}`;
    return [one.agent, provider || "-", `${podText(one.pod)}${at}, session ${session}`].map(plainText);
  }
  if (one.type === "tmux") return [plainText(one.agent), "-", `tmux ${plainText(one.session)} at ${one.socketPath}`];
  const { provider, listen, sessionId } = one.sidecar;
  return [plainText(one.agent), plainText(provider), plainText(`${listen}, session ${sessionId}`)];
}

function agentJson(one: KnownAgent): Record<string, unknown> {
  if (one.type === "pod") {
    const { namespace, name, session, provider, node, tls, status, reason, error } = one.pod;
    const place = { namespace, pod: name, node, session_id: session };
    return { agent: one.agent, type: "pod", ...place, provider, tls, status, reason, error };
  }
  if (one.type === "tmux") return { agent: one.agent, type: "tmux", socket: one.socketPath, session: one.session };
  const { listen, sessionId, project, provider, tls, pid, startedAt } = one.sidecar;
  return {
    agent: one.agent,
    type: "sidecar",
    listen,
    session_id: sessionId,
    project_id: project,
    provider,
    tls,
    pid,
    started_at: isoTime(startedAt),
  };
}
