import { PrintableText, printable } from "../../../internal/base/printable-text.ts";
import { plainText } from "../../../internal/base/sanitise.ts";
import type { KnownAgent } from "../../../internal/terminal/finding/known-agents.ts";
import { listPlaces } from "../../../internal/terminal/finding/resolve-place.ts";
import { agentsHere } from "../common/agents-here.ts";
import { alignedTable } from "../common/aligned-table.ts";
import { takeArguments } from "../common/arguments.ts";
import type { Given } from "../common/command.ts";
import type { CommandContext } from "../common/command-context.ts";
import { isoTime } from "../common/iso-time.ts";
import { isControlPlane, readPlace } from "../common/place-config.ts";
import type { AgentsFlags } from "./agents-flags.ts";

export async function runAgents(given: Given<AgentsFlags>, context: CommandContext): Promise<number> {
  takeArguments("agents", given.positionals, []);
  const { json = false, quiet = false } = given.values;
  const place = readPlace(given.values, context.env);
  if (isControlPlane(place)) return await (await import("./run-sessions.ts")).runSessions(place, given.values, context);
  const known = await listPlaces(await agentsHere(place, context.clock), place, context.signal);
  const { out } = context;
  if (json) out.line(PrintableText.json(known.map(agentJson)));
  else if (quiet) for (const one of known) out.line(printable`${one.agent}`);
  else if (known.length === 0)
    context.note("no agent runs here; gt looks at local tmux sessions and at sidecars of this machine");
  else for (const line of table(known)) out.line(printable`${line}`);
  return 0;
}

function table(known: readonly KnownAgent[]): readonly string[] {
  return alignedTable([["AGENT", "PROVIDER", "WHERE"], ...known.map(agentCells)]);
}

function agentCells(one: KnownAgent): readonly string[] {
  if (one.type === "tmux") return [plainText(one.agent), "-", `tmux ${plainText(one.session)} at ${one.socketPath}`];
  const { provider, listen, sessionId } = one.sidecar;
  return [plainText(one.agent), plainText(provider), plainText(`${listen}, session ${sessionId}`)];
}

function agentJson(one: KnownAgent): Record<string, unknown> {
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
