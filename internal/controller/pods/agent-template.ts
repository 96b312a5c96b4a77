/** How to create the pods of one provider in one namespace, as configured by the operator. */
export interface AgentTemplate {
  readonly image: string;
  /** Default: the cluster's. */
  readonly imagePullPolicy?: "Always" | "IfNotPresent" | "Never" | undefined;
  readonly imagePullSecrets: readonly string[];
  /** Profile of `gt-sidecar --agent`; undefined: the image's default. */
  readonly agent?: string | undefined;
  /** The agent's program and its arguments; empty: those of the profile. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly envFrom: readonly EnvSource[];
  /** Options that a caller may set in `agent_opts`, by name. */
  readonly options: Readonly<Record<string, AgentOption>>;
  /** `embedded`: the sidecar is the first process of the agent's container; `containers`: it has its own container. */
  readonly isolation: "embedded" | "containers";
  readonly resources: Resources;
  /** Resources of the sidecar's own container; unused if embedded. */
  readonly sidecarResources: Resources;
  readonly workspace: Workspace;
  /** The longest time between the request to stop and the agent's end, ms. */
  readonly graceMs: number;
  /** Numeric id of the user, the group and the group of files in volumes; undefined: the cluster chooses. */
  readonly user: number | undefined;
  readonly placement: Placement;
}

export interface EnvSource {
  readonly type: "secret" | "config-map";
  readonly name: string;
  /** The pod starts even if the source is missing. */
  readonly optional: boolean;
}

/** An option that becomes an environment variable of the agent. */
interface AgentOption {
  readonly env: string;
  /** Allowed values; undefined: any text of at most 1,024 bytes without control characters. */
  readonly values?: readonly string[];
}

/** Quantities in Kubernetes notation, by resource. */
export interface Resources {
  readonly requests: Readonly<Record<string, string>>;
  readonly limits: Readonly<Record<string, string>>;
}

/** The volume at `/workspace`. */
export type Workspace =
  /** Initially empty, and deleted with the pod. */
  | { readonly type: "empty-dir"; readonly sizeLimit: string }
  /** An existing PersistentVolumeClaim, shared by all pods of the template. */
  | { readonly type: "claim"; readonly claimName: string }
  /** A volume with a clone that is made before the agent starts. */
  | {
      readonly type: "git";
      readonly sizeLimit: string;
      readonly url: string;
      /** Branch or tag; undefined: the repository's default. */
      readonly ref?: string | undefined;
      /** Depth of the clone in commits; 0: complete. */
      readonly depth: number;
      /** Folder of the clone, below `/workspace`. */
      readonly path: string;
      /** A Secret with the key `credentials`, a file of git's credential store. */
      readonly credentialsSecret?: string | undefined;
    };

/** The nodes on which pods run, and their service account. */
export interface Placement {
  /** A service account without roles; undefined: the namespace's default, whose token is not mounted. */
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

/** Mount path of the workspace; every `repo_path` is this folder or below it. */
export const WORKSPACE = "/workspace";

/** Used by the examples of `deploy/k8s` and by every template without its own values. */
export const DEFAULT_RESOURCES: Resources = {
  requests: { cpu: "100m", memory: "256Mi", "ephemeral-storage": "256Mi" },
  limits: { memory: "2Gi", "ephemeral-storage": "4Gi" },
};

export const DEFAULT_SIDECAR_RESOURCES: Resources = {
  requests: { cpu: "50m", memory: "128Mi", "ephemeral-storage": "64Mi" },
  limits: { memory: "768Mi", "ephemeral-storage": "256Mi" },
};

export const DEFAULT_USER = 10001;
