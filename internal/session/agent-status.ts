import type { PaneStatus } from "./types.ts";

/** An agent's status and identity, as far as the place where it runs reports them. */
export interface AgentStatus extends PaneStatus {
  /** Full address, e.g. `rig/polecats/name`. */
  readonly agent: string;
  readonly sessionId: string;
  readonly projectId: string;
  readonly provider: string;
  /** The reason why its session failed, a sentence for a person; absent while it runs, and if unknown. */
  readonly why?: string;
}
