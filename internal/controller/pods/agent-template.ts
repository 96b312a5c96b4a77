/** How to create the pods of one provider in one namespace, as configured by the operator. */
export interface AgentTemplate {
  readonly image: string;
  /** Default: the cluster's. */
  readonly imagePullPolicy?: "Always" | "IfNotPresent" | "Never";
  readonly imagePullSecrets: readonly string[];
  /** Profile of `gt-sidecar --agent`; undefined: what the image says. */
  readonly agent?: string;
  /** The agent's program and its arguments; empty: the profile's own. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly envFrom: readonly EnvSource[];
  /** What a caller may set by `agent_opts`, by name. */
  readonly options: Readonly<Record<string, AgentOption>>;
  /** `embedded`: the sidecar is the first process of the agent's container; `containers`: it has one of its own. */
  readonly isolation: "embedded" | "containers";
  readonly resources: Resources;
  /** Of the sidecar's own container; not used when embedded. */
  readonly sidecarResources: Resources;
  readonly workspace: Workspace;
  /** From the request to stop to the agent's end, ms. */
  readonly graceMs: number;
  /** Numeric user, and group of its files; undefined: the cluster chooses. */
  readonly user: number | undefined;
  readonly placement: Placement;
}

export interface EnvSource {
  readonly type: "secret" | "config-map";
  readonly name: string;
  /** Pods start without it too. */
  readonly optional: boolean;
}

/** An option becomes an environment variable of the agent's. */
interface AgentOption {
  readonly env: string;
  /** What may be set; undefined: any text of at most 1,024 bytes without control characters. */
  readonly values?: readonly string[];
}

/** Quantities as Kubernetes writes them, by resource. */
export interface Resources {
  readonly requests: Readonly<Record<string, string>>;
  readonly limits: Readonly<Record<string, string>>;
}

/** The volume at `/workspace`. */
export type Workspace =
  /** Empty at the start, gone with the pod. */
  | { readonly type: "empty-dir"; readonly sizeLimit: string }
  /** A PersistentVolumeClaim that exists; shared by all pods of the template. */
  | { readonly type: "claim"; readonly claimName: string }
  /** An empty one with a clone in it, made before the agent starts. */
  | {
      readonly type: "git";
      readonly sizeLimit: string;
      readonly url: string;
      /** Branch or tag; undefined: the repository's own choice. */
      readonly ref?: string;
      /** Commits to fetch; 0: all. */
      readonly depth: number;
      /** Folder of the clone, below `/workspace`. */
      readonly path: string;
      /** A Secret with the key `credentials`, a file of git's credential store. */
      readonly credentialsSecret?: string;
    };

/** Where pods run and as whom. */
export interface Placement {
  /** One without any role; undefined: the namespace's default, whose token is not mounted. */
  readonly serviceAccountName?: string;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly Toleration[];
  readonly runtimeClassName?: string;
  readonly priorityClassName?: string;
}

interface Toleration {
  readonly key?: string;
  readonly operator?: "Exists" | "Equal";
  readonly value?: string;
  readonly effect?: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
}

/** Where the workspace is mounted; every `repo_path` is this folder or one below it. */
export const WORKSPACE = "/workspace";

/** What the examples of `deploy/k8s` and every template without its own values use. */
export const DEFAULT_RESOURCES: Resources = {
  requests: { cpu: "100m", memory: "256Mi", "ephemeral-storage": "256Mi" },
  limits: { memory: "2Gi", "ephemeral-storage": "4Gi" },
};

export const DEFAULT_SIDECAR_RESOURCES: Resources = {
  requests: { cpu: "50m", memory: "128Mi", "ephemeral-storage": "64Mi" },
  limits: { memory: "768Mi", "ephemeral-storage": "256Mi" },
};

export const DEFAULT_USER = 10001;
