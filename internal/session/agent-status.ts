import type { PaneStatus } from "./types.ts";

/** Status of an agent with who it is, as far as the place where it lives can tell. */
export interface AgentStatus extends PaneStatus {
  /** Full address, e.g. `rig/polecats/name`. */
  readonly agent: string;
  readonly sessionId: string;
  readonly projectId: string;
  readonly provider: string;
}
