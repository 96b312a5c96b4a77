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

/**
 * The agents among tmux sessions, running sidecars and pods, sorted by address. A session counts when its name is one
 * of upstream's, or always with `everySession`: a person's own sessions on the default server are nobody's business.
 */
export function knownAgents(found: {
  readonly sessions: readonly { readonly socketPath: string; readonly session: string }[];
  readonly sidecars: readonly LocalSidecar[];
  readonly pods: readonly AgentPod[];
  readonly town: Town | undefined;
  readonly everySession: boolean;
}): readonly KnownAgent[] {
  const agents: KnownAgent[] = [];
  for (const { socketPath, session } of found.sessions) {
    const address = addressOfSession(session, found.town);
    const known = address.type !== "bare" || session.startsWith(`${DEFAULT_PREFIX}-`) || session.startsWith("hq-");
    if (known || found.everySession) agents.push({ type: "tmux", agent: formatAddress(address), socketPath, session });
  }
  for (const sidecar of found.sidecars) agents.push({ type: "sidecar", agent: sidecar.agent, sidecar });
  for (const pod of found.pods) agents.push({ type: "pod", agent: pod.agent || pod.session, pod });
  return agents.sort((a, b) => (a.agent < b.agent ? -1 : a.agent > b.agent ? 1 : 0));
}
