import type { SessionInfo, SessionKey } from "../../bridge/session-backend.ts";
import {
  ADOPTED_SECRET,
  ANNOTATIONS,
  adoptedSecretName,
  CERTIFICATE_GATE,
  LABELS,
  labelledAddress,
  MANAGED_BY,
  secretName,
} from "./names.ts";
import type { ObservedPod } from "./observed-pod.ts";
import { podVerdict } from "./pod-status.ts";
import type { NamespaceBinding } from "./settings.ts";

/** The port of every sidecar. */
export const SIDECAR_PORT = 9090;

const MAX_INT32 = 2 ** 31 - 1;

/** A session and its pod. */
export interface SessionRecord {
  readonly key: SessionKey;
  readonly pod: ObservedPod;
  readonly binding: NamespaceBinding;
  /** The pod was made by the controller; other pods are adopted. */
  readonly isOwn: boolean;
}

/** A session's key as text, for maps and queues. */
export function keyText({ project, id }: SessionKey): string {
  return JSON.stringify([project, id]);
}

/** The key in a `keyText`. */
export function keyIn(text: string): SessionKey {
  const [project, id] = JSON.parse(text) as [string, string];
  return { project, id };
}

/** The project in a `keyText`. */
export function projectOf(text: string): string {
  return keyIn(text).project;
}

/**
 * The name of the Secret with a session's certificate: follows from the session or the pod's uid, never from the pod's
 * spec.
 */
export function secretNameOf({ pod, isOwn }: SessionRecord): string {
  return isOwn ? secretName(pod.name) : adoptedSecretName(pod.labels[LABELS.session], pod.uid);
}

/** The last end of an agent that ends soon after each start; its sidecar restarts it with growing delays. */
export interface AgentLoop {
  readonly exitCode: number;
}

/** Facts about a session that its pod does not show. */
export interface SessionKnowledge {
  /** The sidecar has answered with the session's own certificate, and its agent is running. */
  readonly confirmed: boolean;
  /** The sidecar reports that the agent ends soon after each start; undefined: not known. */
  readonly loop: AgentLoop | undefined;
  /** A Secret that the pod mounts and that does not exist; undefined: none is known to be missing. */
  readonly missing: string | undefined;
  readonly startTimeoutMs: number;
  /** Wall clock, ms. */
  readonly now: number;
}

/** The session of a pod; undefined: the pod is not ours, and its namespace adopts none. */
export function sessionRecord(pod: ObservedPod, binding: NamespaceBinding): SessionRecord | undefined {
  const isOwn = pod.labels[LABELS.managedBy] === MANAGED_BY;
  if (!isOwn && binding.adoption === undefined) return undefined;
  const id = isOwn ? pod.annotations[ANNOTATIONS.sessionId] : pod.labels[LABELS.session];
  return { key: { project: binding.project, id: id || pod.uid }, pod, binding, isOwn };
}

/** A total order of pods on which all replicas agree, also for pods created in the same second. */
export function isOlder({ pod: a }: SessionRecord, { pod: b }: SessionRecord): boolean {
  return a.createdAt < b.createdAt || (a.createdAt === b.createdAt && a.uid < b.uid);
}

/** The session has ended and is kept for its retention only. */
export function hasEnded({ pod }: SessionRecord): boolean {
  return pod.annotations[ANNOTATIONS.stoppedAt] !== undefined || isOver(pod);
}

/** No container of the pod is running or will run again. */
export function isOver({ status }: ObservedPod): boolean {
  return status.phase === "Succeeded" || status.phase === "Failed";
}

/** Address of the sidecar in the cluster; undefined before the pod has an address, and after the session has ended. */
export function sidecarOf(record: SessionRecord): SessionInfo["sidecar"] {
  const { podIp } = record.pod.status;
  return podIp === "" || hasEnded(record) ? undefined : { host: podIp, port: SIDECAR_PORT };
}

/** The number of restarts of the pod's containers. */
export function restartsOf({ status }: ObservedPod): number {
  return status.containers.reduce((sum, { restarts }) => sum + restarts, 0);
}

/**
 * A foreign pod with a session's label but without the label for adoption: it gets no certificate, and the label cannot
 * be added later.
 */
export function isUnlabelled({ pod, isOwn }: SessionRecord): boolean {
  return !isOwn && pod.labels[LABELS.agent] === undefined;
}

/** The pod must not start before its certificate exists. */
export function isWaiting({ pod }: SessionRecord): boolean {
  return pod.gates.includes(CERTIFICATE_GATE);
}

/** The session's sidecar uses a certificate. */
export function isSecured({ binding }: SessionRecord): boolean {
  return binding.credentials === "secret";
}

/** A stop was requested. */
export function isStopping({ pod }: SessionRecord): boolean {
  return pod.annotations[ANNOTATIONS.stopRequested] !== undefined;
}

/** A stop was requested that does not wait for the agent. */
export function isForced({ pod }: SessionRecord): boolean {
  return pod.annotations[ANNOTATIONS.stopForced] === "true";
}

/** The session as callers see it. */
export function sessionInfo(record: SessionRecord, known: SessionKnowledge): SessionInfo {
  const { key, pod } = record;
  const sidecar = sidecarOf(record);
  const stoppedAt = Date.parse(pod.annotations[ANNOTATIONS.stoppedAt] ?? "");
  return {
    ...key,
    provider: pod.labels[LABELS.provider] ?? "",
    ...verdictOf(record, known),
    repoPath: pod.annotations[ANNOTATIONS.repoPath] ?? "",
    agentOpts: optionsOf(pod),
    createdAt: pod.createdAt,
    stoppedAt: Number.isNaN(stoppedAt) ? undefined : stoppedAt,
    lastSeq: 0n,
    epoch: "",
    agent: pod.annotations[ANNOTATIONS.address] ?? labelledAddress(pod.labels),
    restarts: Math.min(restartsOf(pod), MAX_INT32),
    agentSessionId: "",
    sidecar,
  };
}

function verdictOf(record: SessionRecord, known: SessionKnowledge): Pick<SessionInfo, "status" | "reason" | "error"> {
  const { pod } = record;
  const stopping = isStopping(record);
  const verdict = podVerdict(pod, { stopping });
  const wasStopped = pod.annotations[ANNOTATIONS.stoppedAt] !== undefined;
  if (wasStopped && verdict.status !== "failed") return { status: "stopped", reason: "", error: "" };
  const isUp = (verdict.status === "running" && verdict.reason !== "NodeLost") || verdict.status === "starting";
  if (isUp && known.loop !== undefined) return loopVerdict(known.loop);
  const isMounting = verdict.status === "starting" && verdict.reason === "";
  if (isMounting && isUnlabelled(record)) return mountVerdict(UNLABELLED);
  if (isMounting && known.missing !== undefined) return mountVerdict(missingText(record, known.missing));
  if (verdict.status === "running" && !known.confirmed) return { ...verdict, status: "starting" };
  // While the agent is restarted, a pod with a separate sidecar container is not ready.
  if (verdict.status === "starting" && known.confirmed) return { ...verdict, status: "running" };
  const isLate = verdict.status === "starting" && known.now - pod.createdAt > known.startTimeoutMs;
  if (!isLate) return verdict;
  const why = verdict.error === "" ? "" : `: ${verdict.error}`;
  const error = `the agent was not ready within ${known.startTimeoutMs / 1_000} s${why}`;
  return { status: "failed", reason: verdict.reason || "StartTimeout", error };
}

/**
 * The container keeps running and the sidecar answers, but to the caller this is like a container that keeps ending.
 */
function loopVerdict({ exitCode }: AgentLoop): Pick<SessionInfo, "status" | "reason" | "error"> {
  const error = `the agent ends soon after each start, the last time with code ${exitCode}`;
  return { status: "failed", reason: "CrashLoopBackOff", error };
}

const UNLABELLED = `its pod has no label ${LABELS.agent}, so it gets no certificate: create it again with that label`;

function missingText(record: SessionRecord, missing: string): string {
  const { pod, isOwn } = record;
  const text = `its pod mounts the Secret ${missing}, which is not in namespace ${pod.namespace}`;
  const own = secretNameOf(record);
  if (isOwn || !isSecured(record) || missing === own || !missing.startsWith(ADOPTED_SECRET)) return text;
  return pod.labels[LABELS.session] === undefined
    ? `${text}: create it again with the label ${LABELS.session}: ${missing.slice(ADOPTED_SECRET.length)}`
    : `${text}; by its label ${LABELS.session} its certificate is in ${own}`;
}

/** The kubelet reports this only as an event of the pod; it retries until the Secret exists. */
function mountVerdict(error: string): Pick<SessionInfo, "status" | "reason" | "error"> {
  return { status: "failed", reason: "FailedMount", error };
}

/** The options of the session's start; none if the annotation is invalid. */
export function optionsOf({ annotations }: ObservedPod): Readonly<Record<string, string>> {
  try {
    const options: unknown = JSON.parse(annotations[ANNOTATIONS.agentOpts] ?? "{}");
    if (typeof options !== "object" || options === null) return {};
    return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, String(value)]));
  } catch {
    return {};
  }
}
