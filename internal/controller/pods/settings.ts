import type { AgentTokenRules } from "../../auth/agent-token.ts";
import type { IssuerRule } from "../../auth/issuing-cas.ts";
import type { AgentTemplate } from "./agent-template.ts";

/** What the operator configured; `cmd/gt-controller` reads it from a file. */
export interface ControllerSettings {
  readonly trustDomain: string;
  readonly ca: CaSettings;
  /** The namespaces with agents. Several may belong to one project; each belongs to one. */
  readonly namespaces: readonly NamespaceBinding[];
  readonly sessions: SessionSettings;
  /** Callers may read at the sidecars of their projects themselves, without a controller. */
  readonly directRead: boolean;
  /** Undefined: agents get no tokens. */
  readonly sessionTokens?: AgentTokenRules;
  /** The program that writes beads' metadata; undefined: none is written. */
  readonly bd?: { readonly command: readonly string[]; readonly workdir?: string };
}

export interface CaSettings {
  readonly namespace: string;
  readonly secret: string;
  /** How often each replica reads the Secret, ms. */
  readonly reloadMs: number;
  /** How long a CA that was replaced stays trusted, for certificates of callers that it has signed, ms. */
  readonly keepPreviousMs: number;
}

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

interface Adoption {
  /** User names, e.g. `system:serviceaccount:ci:deployer`, that may set `gastown.io/` labels on pods they create. */
  readonly accounts: readonly string[];
}

export interface SessionSettings {
  readonly maxPerProject: number;
  readonly maxGlobal: number;
  /** How long a stopped session stays readable, ms. */
  readonly retentionMs: number;
  /** From StartSession to a ready sidecar, ms; a session that takes longer has failed. */
  readonly startTimeoutMs: number;
  readonly startsPerMinute: number;
  readonly inputsPerMinute: number;
  readonly maxInputBytes: number;
}

/** How much longer a sidecar serves than a stopped session is kept, so that the controller deletes its pod first. */
export const LINGER_MARGIN_MS = 600_000;

/** The Lease of the replica that writes, in the controllers' namespace. */
export const LEASE_NAME = "gastown-controller";

/** The id in a controller's certificate. `namespace` is the one it runs in. */
export function controllerId(trustDomain: string, namespace: string): string {
  return `spiffe://${trustDomain}/ns/${namespace}/controller`;
}

/** Who may call the sidecars of a project, as rules of `--allow-client`. */
export type ClientRules = (project: string) => readonly string[];

/** A caller's name that is one segment of an id, and stands for itself in a rule. */
const PLAIN_NAME = /^[A-Za-z0-9._~-]+$/;

/**
 * The controllers of that namespace; and, where that is configured, the callers that may act for the project, who read.
 */
export function clientRules(
  { trustDomain, directRead }: Pick<ControllerSettings, "trustDomain" | "directRead">,
  callers: readonly Pick<IssuerRule, "issuer" | "projects">[],
  namespace: string,
): ClientRules {
  const readers = callers.filter(({ issuer }) => directRead && PLAIN_NAME.test(issuer));
  return (project) => {
    const own = readers.filter(({ projects }) => projects?.includes(project) ?? true);
    const names = new Set(own.map(({ issuer }) => `spiffe://${trustDomain}/client/${issuer}=read`));
    return [`${controllerId(trustDomain, namespace)}=operate`, ...names];
  };
}
