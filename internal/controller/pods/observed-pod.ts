import { asText, type Json, objectOf } from "../../base/json-fields.ts";
import { ANNOTATIONS, LABELS, MANAGED_BY } from "./names.ts";

/** The kept fields of a pod; the rest of the API server's object is dropped at once. */
export interface ObservedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** `app.kubernetes.io/managed-by` and labels of `gastown.io/`: 64 at most. */
  readonly labels: Readonly<Record<string, string>>;
  /** Annotations in `ANNOTATIONS`; for a pod that was not made here, only values of up to 1,024 characters. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Wall clock, ms. */
  readonly createdAt: number;
  /** When its deletion was requested, wall clock, ms. */
  readonly deletedAt?: number | undefined;
  readonly nodeName: string;
  /** Scheduling gates, 16 at most. */
  readonly gates: readonly string[];
  /** Name of the Secret in the volume `tls`. */
  readonly tlsSecret?: string | undefined;
  /** Name of the Secret in the volume `session`. */
  readonly tokenSecret?: string | undefined;
  /** Secrets that the containers need to start, 16 at most; absent: none. */
  readonly mountedSecrets?: readonly string[] | undefined;
  readonly status: PodFacts;
}

/** The status of a pod, as far as it shows the state of the agent; texts are cut. */
export interface PodFacts {
  readonly phase: string;
  readonly reason: string;
  readonly message: string;
  readonly podIp: string;
  /** The conditions in `JUDGED`. */
  readonly conditions: readonly PodCondition[];
  /** Init containers that end before the others start. */
  readonly initContainers: readonly ContainerFacts[];
  /** The other containers, including those that start early and run beside the agent's. */
  readonly containers: readonly ContainerFacts[];
}

export interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export interface ContainerFacts {
  readonly name: string;
  readonly ready: boolean;
  /** The startup probe has passed; without a startup probe, the container is running. */
  readonly started: boolean;
  /** The container starts before the others and runs beside them. */
  readonly early: boolean;
  readonly restarts: number;
  readonly state: ContainerState;
  /** How the container last ended; undefined: it has not ended yet. */
  readonly lastEnd?: ContainerEnd | undefined;
}

type ContainerState =
  | { readonly type: "waiting"; readonly reason: string; readonly message: string }
  | { readonly type: "running" }
  | ({ readonly type: "terminated" } & ContainerEnd);

export interface ContainerEnd {
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
}

/** Limits: any pod, even a foreign one, may carry a megabyte of each, and every replica keeps all pods in memory. */
const MAX_LABELS = 64;
const MAX_GATES = 16;
const MAX_FOREIGN_TEXT = 1024;
/** Anyone with write access to a pod's status may write values that a kubelet never does. */
const MAX_STATUS_TEXT = 320;
const MAX_CONTAINERS = 16;
const MAX_NAME = 253;
const MAX_SECRETS = 16;
const KNOWN_ANNOTATIONS: ReadonlySet<string> = new Set(Object.values(ANNOTATIONS));

/** Parses a pod. Missing fields and fields of another type count as empty. */
export function observePod(pod: unknown): ObservedPod {
  const { metadata, spec, status } = objectOf(pod) as { metadata?: unknown; spec?: unknown; status?: unknown };
  const meta = objectOf(metadata);
  const deletedAt = time(meta["deletionTimestamp"]);
  const tlsSecret = secretOf(spec, "tls");
  const tokenSecret = secretOf(spec, "session");
  const mountedSecrets = mountedIn(spec);
  const labels = texts(meta["labels"], (key) => key.startsWith("gastown.io/") || key === LABELS.managedBy);
  const isOwn = objectOf(meta["labels"])[LABELS.managedBy] === MANAGED_BY;
  const annotations = texts(
    meta["annotations"],
    (key, text) => KNOWN_ANNOTATIONS.has(key) && (isOwn || text.length <= MAX_FOREIGN_TEXT),
  );
  return {
    namespace: asText(meta["namespace"]),
    name: asText(meta["name"]),
    uid: asText(meta["uid"]),
    resourceVersion: asText(meta["resourceVersion"]),
    labels: Object.fromEntries(labels.slice(0, MAX_LABELS)),
    annotations: Object.fromEntries(annotations),
    createdAt: time(meta["creationTimestamp"]) ?? 0,
    deletedAt,
    nodeName: asText(objectOf(spec)["nodeName"]),
    gates: list(objectOf(spec)["schedulingGates"])
      .slice(0, MAX_GATES)
      .map((gate) => asText(objectOf(gate)["name"])),
    ...{ tlsSecret, tokenSecret },
    mountedSecrets: mountedSecrets.length > 0 ? mountedSecrets : undefined,
    status: factsOf(status, spec),
  };
}

function factsOf(value: unknown, spec: unknown): PodFacts {
  const status = objectOf(value);
  const init = list(objectOf(spec)["initContainers"]).map(objectOf);
  const early = new Set(init.filter((one) => one["restartPolicy"] === "Always").map((one) => asText(one["name"])));
  const [before, beside] = ["initContainerStatuses", "containerStatuses"].map((name) =>
    list(status[name])
      .slice(0, MAX_CONTAINERS)
      .map((one) => containerOf(one, early)),
  ) as [ContainerFacts[], ContainerFacts[]];
  return {
    phase: told(status["phase"]),
    reason: told(status["reason"]),
    message: told(status["message"]),
    podIp: told(status["podIP"]),
    conditions: judgedOf(list(status["conditions"])),
    initContainers: before.filter((one) => !one.early),
    containers: [...beside, ...before.filter((one) => one.early)],
  };
}

/** Only these conditions: a kubelet sets five or more per pod, and thousands of pods are in memory. */
const JUDGED = ["Ready", "PodScheduled", "DisruptionTarget"];

function judgedOf(conditions: readonly unknown[]): readonly PodCondition[] {
  return JUDGED.flatMap((type) => {
    const { status, reason, message } = objectOf(conditions.find((one) => objectOf(one)["type"] === type));
    return status === undefined ? [] : [{ type, status: told(status), reason: told(reason), message: told(message) }];
  });
}

function containerOf(value: unknown, early: ReadonlySet<string>): ContainerFacts {
  const container = objectOf(value);
  const lastEnd = endOf(objectOf(container["lastState"])["terminated"]);
  return {
    name: told(container["name"]),
    ready: container["ready"] === true,
    started: container["started"] === true,
    early: early.has(asText(container["name"])),
    restarts: count(container["restartCount"]),
    state: stateOf(objectOf(container["state"])),
    lastEnd,
  };
}

function stateOf(state: Json): ContainerState {
  if (state["running"] !== undefined) return { type: "running" };
  const end = endOf(state["terminated"]);
  if (end !== undefined) return { type: "terminated", ...end };
  const waiting = objectOf(state["waiting"]);
  return { type: "waiting", reason: told(waiting["reason"]), message: told(waiting["message"]) };
}

function endOf(value: unknown): ContainerEnd | undefined {
  if (value === undefined || value === null) return undefined;
  const { exitCode, reason, message } = objectOf(value);
  return { exitCode: count(exitCode), reason: told(reason), message: told(message) };
}

function secretOf(spec: unknown, name: string): string | undefined {
  const volume = list(objectOf(spec)["volumes"]).find((one) => objectOf(one)["name"] === name);
  const secret = asText(objectOf(objectOf(volume)["secret"])["secretName"]);
  return secret === "" || secret.length > MAX_NAME ? undefined : secret;
}

/** Secrets of volumes, including projected ones, that are not optional. */
function mountedIn(spec: unknown): readonly string[] {
  const names = list(objectOf(spec)["volumes"]).flatMap((volume) => {
    const { secret, projected } = objectOf(volume);
    const sources = list(objectOf(projected)["sources"]).map((one) => objectOf(objectOf(one)["secret"]));
    const all = [{ ...objectOf(secret), name: objectOf(secret)["secretName"] }, ...sources];
    return all.flatMap((one: Json) => (one["optional"] === true ? [] : [asText(one["name"])]));
  });
  return [...new Set(names)].filter((name) => name !== "" && name.length <= MAX_NAME).slice(0, MAX_SECRETS);
}

function texts(value: unknown, isKept: (key: string, text: string) => boolean): readonly (readonly [string, string])[] {
  return Object.entries(objectOf(value)).flatMap(([key, text]) =>
    typeof text === "string" && isKept(key, text) ? [[key, text] as const] : [],
  );
}

/** A text of a status, cut to MAX_STATUS_TEXT. Copied, because a slice would keep the whole text in memory. */
function told(value: unknown): string {
  const text = asText(value);
  return text.length <= MAX_STATUS_TEXT ? text : Buffer.from(text.slice(0, MAX_STATUS_TEXT)).toString();
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function count(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

function time(value: unknown): number | undefined {
  const ms = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
