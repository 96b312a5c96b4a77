import { formatAddress } from "./address.ts";
import type { AgentPod } from "./agent-pods.ts";
import type { LocalSidecar } from "./local-sidecars.ts";
import { addressOfSession } from "./session-names.ts";
import { DEFAULT_PREFIX, type Town } from "./town.ts";

/** An agent found by listing: on this machine, or in the cluster of the given context. */
export type KnownAgent =
  | { readonly type: "tmux"; readonly agent: string; readonly socketPath: string; readonly session: string }
  | { readonly type: "sidecar"; readonly agent: string; readonly sidecar: LocalSidecar }
  | { readonly type: "pod"; readonly agent: string; readonly pod: AgentPod };

export interface FoundAgents {
  /** Sorted by address. */
  readonly agents: readonly KnownAgent[];
  /** Tmux sessions whose names are not upstream's: a person's own, or an agent's under another name. */
  readonly otherSessions: readonly string[];
}

/**
 * The agents among tmux sessions, running sidecars and pods. A session counts if its name is one of upstream's; with
 * `everySession` every session counts. Other sessions, such as a person's own on the default server, are returned by
 * name only.
 */
export function knownAgents(found: {
  readonly sessions: readonly { readonly socketPath: string; readonly session: string }[];
  readonly sidecars: readonly LocalSidecar[];
  readonly pods: readonly AgentPod[];
  readonly town: Town | undefined;
  readonly everySession: boolean;
}): FoundAgents {
  const agents: KnownAgent[] = [];
  const otherSessions: string[] = [];
  for (const { socketPath, session } of found.sessions) {
    const address = addressOfSession(session, found.town);
    const known = address.type !== "bare" || session.startsWith(`${DEFAULT_PREFIX}-`) || session.startsWith("hq-");
    if (known || found.everySession) agents.push({ type: "tmux", agent: formatAddress(address), socketPath, session });
    else otherSessions.push(session);
  }
  for (const sidecar of found.sidecars) agents.push({ type: "sidecar", agent: sidecar.agent, sidecar });
  for (const pod of found.pods) agents.push({ type: "pod", agent: pod.agent || pod.session, pod });
  agents.sort((a, b) => (a.agent < b.agent ? -1 : a.agent > b.agent ? 1 : 0));
  return { agents, otherSessions };
}

/**
 * The message that no agent is running, for a person; with the sessions that `gt` nevertheless reaches by their names.
 */
export function noAgentHere(otherSessions: readonly string[]): string {
  const none = "no agent is running here";
  if (otherSessions.length === 0) return none;
  return `${none} under a name of Gas Town's; other tmux sessions are reached by theirs: ${listed(otherSessions)}`;
}

/** Lists the first twenty names, and says how many more there are. */
export function listed(names: readonly string[]): string {
  return names.slice(0, 20).join(", ") + (names.length > 20 ? ` and ${names.length - 20} more` : "");
}
