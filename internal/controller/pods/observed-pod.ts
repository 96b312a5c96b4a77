import { asText, type Json, objectOf } from "../../base/json-fields.ts";
/** What a pod's name, labels and status tell; everything else that the API server sends of a pod is dropped at once. */
export interface ObservedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Those of `gastown.io/` and `app.kubernetes.io/managed-by`. */
  readonly labels: Readonly<Record<string, string>>;
  /** Those of `gastown.io/`. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Wall clock, ms. */
  readonly createdAt: number;
  /** When its deletion was requested, wall clock, ms. */
  readonly deletedAt?: number;
  readonly nodeName: string;
  readonly gates: readonly string[];
  /** Name of the Secret that is mounted as the volume `tls`. */
  readonly tlsSecret?: string;
  /** Name of the Secret that is mounted as the volume `session`. */
  readonly tokenSecret?: string;
  readonly status: PodFacts;
}

/** The status of a pod, as far as it says how an agent is. */
export interface PodFacts {
  readonly phase: string;
  readonly reason: string;
  readonly message: string;
  readonly podIp: string;
  /** Those by which a pod is judged. */
  readonly conditions: readonly PodCondition[];
  /** Those that end before the others start. */
  readonly initContainers: readonly ContainerFacts[];
  /** The others, those included that start early and run beside the agent's. */
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
  /** Its startup probe has passed; it has none: it runs. */
  readonly started: boolean;
  /** It starts before the others and runs beside them. */
  readonly early: boolean;
  readonly restarts: number;
  readonly state: ContainerState;
  /** How it ended the last time; undefined: it has not ended. */
  readonly lastEnd?: ContainerEnd;
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

/** A pod of the API server's JSON as what is kept of it. Fields that are absent or of another type count as empty. */
export function observePod(pod: unknown): ObservedPod {
  const { metadata, spec, status } = objectOf(pod) as { metadata?: unknown; spec?: unknown; status?: unknown };
  const meta = objectOf(metadata);
  const deletedAt = time(meta["deletionTimestamp"]);
  const tlsSecret = secretOf(spec, "tls");
  const tokenSecret = secretOf(spec, "session");
  return {
    namespace: asText(meta["namespace"]),
    name: asText(meta["name"]),
    uid: asText(meta["uid"]),
    resourceVersion: asText(meta["resourceVersion"]),
    labels: ours(meta["labels"], (key) => key.startsWith("gastown.io/") || key === "app.kubernetes.io/managed-by"),
    annotations: ours(meta["annotations"], (key) => key.startsWith("gastown.io/")),
    createdAt: time(meta["creationTimestamp"]) ?? 0,
    ...(deletedAt !== undefined && { deletedAt }),
    nodeName: asText(objectOf(spec)["nodeName"]),
    gates: list(objectOf(spec)["schedulingGates"]).map((gate) => asText(objectOf(gate)["name"])),
    ...(tlsSecret !== undefined && { tlsSecret }),
    ...(tokenSecret !== undefined && { tokenSecret }),
    status: factsOf(status, spec),
  };
}

function factsOf(value: unknown, spec: unknown): PodFacts {
  const status = objectOf(value);
  const init = list(objectOf(spec)["initContainers"]).map(objectOf);
  const early = new Set(init.filter((one) => one["restartPolicy"] === "Always").map((one) => asText(one["name"])));
  const before = list(status["initContainerStatuses"]).map((one) => containerOf(one, early));
  const beside = list(status["containerStatuses"]).map((one) => containerOf(one, early));
  return {
    phase: asText(status["phase"]),
    reason: asText(status["reason"]),
    message: asText(status["message"]),
    podIp: asText(status["podIP"]),
    conditions: list(status["conditions"])
      .map(conditionOf)
      .filter(({ type }) => JUDGED.has(type)),
    initContainers: before.filter((one) => !one.early),
    containers: [...beside, ...before.filter((one) => one.early)],
  };
}

/** A kubelet sets five or more for each pod, and thousands of pods are held. */
const JUDGED: ReadonlySet<string> = new Set(["Ready", "PodScheduled", "DisruptionTarget"]);

function conditionOf(value: unknown): PodCondition {
  const { type, status, reason, message } = objectOf(value);
  return { type: asText(type), status: asText(status), reason: asText(reason), message: asText(message) };
}

function containerOf(value: unknown, early: ReadonlySet<string>): ContainerFacts {
  const container = objectOf(value);
  const lastEnd = endOf(objectOf(container["lastState"])["terminated"]);
  return {
    name: asText(container["name"]),
    ready: container["ready"] === true,
    started: container["started"] === true,
    early: early.has(asText(container["name"])),
    restarts: count(container["restartCount"]),
    state: stateOf(objectOf(container["state"])),
    ...(lastEnd !== undefined && { lastEnd }),
  };
}

function stateOf(state: Json): ContainerState {
  if (state["running"] !== undefined) return { type: "running" };
  const end = endOf(state["terminated"]);
  if (end !== undefined) return { type: "terminated", ...end };
  const waiting = objectOf(state["waiting"]);
  return { type: "waiting", reason: asText(waiting["reason"]), message: asText(waiting["message"]) };
}

function endOf(value: unknown): ContainerEnd | undefined {
  if (value === undefined || value === null) return undefined;
  const { exitCode, reason, message } = objectOf(value);
  return { exitCode: count(exitCode), reason: asText(reason), message: asText(message) };
}

function secretOf(spec: unknown, name: string): string | undefined {
  const volume = list(objectOf(spec)["volumes"]).find((one) => objectOf(one)["name"] === name);
  const secret = asText(objectOf(objectOf(volume)["secret"])["secretName"]);
  return secret === "" ? undefined : secret;
}

function ours(value: unknown, isOurs: (key: string) => boolean): Record<string, string> {
  const entries = Object.entries(objectOf(value)).filter(([key, one]) => isOurs(key) && typeof one === "string");
  return Object.fromEntries(entries) as Record<string, string>;
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
