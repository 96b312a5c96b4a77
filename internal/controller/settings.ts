import type { AgentTemplate } from "./agent-template.ts";

/** One namespace is one trust domain of agents: its project comes from here, never from a pod. */
export interface NamespaceBinding {
  readonly name: string;
  readonly project: string;
  /** By provider: what may be started here. */
  readonly templates: ReadonlyMap<string, AgentTemplate>;
  /** How sidecars here are reached; `plaintext` leaves all protection to the network policy. */
  readonly credentials: "secret" | "plaintext";
  /** Pods that others make become sessions; undefined: they do not. */
  readonly adoption?: Adoption;
}

export interface Adoption {
  /** User names, e.g. `system:serviceaccount:ci:deployer`, that may set `gastown.io/` labels on pods they create. */
  readonly accounts: readonly string[];
}

/** How much longer a sidecar serves than a stopped session is kept, so that the controller deletes its pod first. */
export const LINGER_MARGIN_MS = 600_000;
