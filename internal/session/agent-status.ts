import type { PaneStatus } from "./types.ts";

/** Status and identity of an agent, as far as its place reports them. */
export interface AgentStatus extends PaneStatus {
  /** Full address, e.g. `rig/polecats/name`. */
  readonly agent: string;
  readonly sessionId: string;
  readonly projectId: string;
  readonly provider: string;
}
