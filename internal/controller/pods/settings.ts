import type { AgentTokenRules } from "../../auth/agent-token.ts";
import type { IssuerRule } from "../../auth/issuing-cas.ts";
import type { AgentTemplate } from "./agent-template.ts";

/** The operator's configuration; `cmd/gt-controller` reads it from a file. */
export interface ControllerSettings {
  readonly trustDomain: string;
  readonly ca: CaSettings;
  /** The namespaces with agents. Each belongs to one project; a project may have several. */
  readonly namespaces: readonly NamespaceBinding[];
  readonly sessions: SessionSettings;
  /** Callers may read directly from the sidecars of their projects, without a controller. */
  readonly directRead: boolean;
  /** Undefined: agents get no tokens. */
  readonly sessionTokens?: AgentTokenRules | undefined;
  /** The server whose tools agents get, in addition to a token; undefined: none. */
  readonly threads?: ThreadsSettings | undefined;
  /** The Secrets of the set-up, in addition to the first client's. */
  readonly secrets: readonly SetUpSecret[];
  /** The program that writes beads' metadata; undefined: beads are not written. */
  readonly bd?: { readonly command: readonly string[]; readonly workdir?: string | undefined } | undefined;
}

export interface ThreadsSettings {
  readonly url: string;
  /** A file with the CAs of the server's certificate; undefined: those of the sessions. */
  readonly caPath?: string | undefined;
}

/** A Secret in the controllers' namespace that the set-up makes; the leading replica renews the certificate in it. */
export interface SetUpSecret {
  readonly name: string;
  /** The ConfigMap with which the cluster deletes the Secret; undefined: none. */
  readonly owner?: string | undefined;
  readonly content: /** Credentials of a caller of the controllers, and the key of its tokens. */
    | { readonly type: "client"; readonly client: string }
    /** The certificate of a port; at least one name or address. */
    | { readonly type: "server"; readonly hosts: readonly string[] }
    /** The key that signs agents' tokens. */
    | { readonly type: "token-key" };
}

export interface CaSettings {
  readonly namespace: string;
  readonly secret: string;
  /** Interval at which each replica reads the Secret, ms. */
  readonly reloadMs: number;
  /** Time for which a replaced CA stays trusted, because callers have certificates from it, ms. */
  readonly keepPreviousMs: number;
}

/** A namespace is one trust domain of agents: its project is configured here, never taken from a pod. */
export interface NamespaceBinding {
  readonly name: string;
  readonly project: string;
  /** Templates of the providers that may be started here, by provider. */
  readonly templates: ReadonlyMap<string, AgentTemplate>;
  /** Protection of the sidecars here; `plaintext` relies on the network policy alone. */
  readonly credentials: "secret" | "plaintext";
  /** Turns foreign pods into sessions; undefined: they are ignored. */
  readonly adoption?: Adoption | undefined;
}

interface Adoption {
  /** User names, e.g. `system:serviceaccount:ci:deployer`, that may set `gastown.io/` labels on pods they create. */
  readonly accounts: readonly string[];
}

export interface SessionSettings {
  readonly maxPerProject: number;
  readonly maxGlobal: number;
  /** Time for which a stopped session stays readable, ms. */
  readonly retentionMs: number;
  /** Limit from StartSession to a ready sidecar, ms; beyond it the session has failed. */
  readonly startTimeoutMs: number;
  readonly startsPerMinute: number;
  readonly inputsPerMinute: number;
  readonly maxInputBytes: number;
}

/** A sidecar serves this much longer than a stopped session is kept, so that the controller deletes the pod first. */
export const LINGER_MARGIN_MS = 600_000;

/** The Lease of the writing replica, in the controllers' namespace. */
export const LEASE_NAME = "gastown-controller";

/** The id in a controller's certificate. `namespace`: the controller's own. */
export function controllerId(trustDomain: string, namespace: string): string {
  return `spiffe://${trustDomain}/ns/${namespace}/controller`;
}

/** The callers of a project's sidecars, as rules for `--allow-client`. */
export type ClientRules = (project: string) => readonly string[];

/** A name that is a single segment of an id and has no special meaning in a rule. */
const PLAIN_NAME = /^[A-Za-z0-9._~-]+$/;

/** Allows the controllers of the namespace; if `directRead` is configured, also lets the project's callers read. */
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
