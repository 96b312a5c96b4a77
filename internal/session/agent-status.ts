import type { PaneStatus } from "./types.ts";

/** Status and identity of an agent, as far as its place reports them. */
export interface AgentStatus extends PaneStatus {
  /** Full address, e.g. `rig/polecats/name`. */
  readonly agent: string;
  readonly sessionId: string;
  readonly projectId: string;
  readonly provider: string;
  /** Why its session has failed, a sentence for a person; absent while it runs, and where it is not known. */
  readonly why?: string;
}
