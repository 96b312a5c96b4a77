import type { SessionInfo } from "../../bridge/session-backend.ts";
import type { ContainerEnd, ContainerFacts, ObservedPod, PodCondition, PodFacts } from "./observed-pod.ts";

/** The status of a session as its pod shows it. */
export type PodVerdict = Pick<SessionInfo, "status" | "reason" | "error">;

/** Facts about the session that the pod does not show: a request to stop it. */
export interface SessionIntent {
  readonly stopping: boolean;
}

type Check = (pod: ObservedPod, intent: SessionIntent) => PodVerdict | undefined;

/** Waiting reasons that do not resolve by themselves within seconds, although the kubelet keeps trying. */
const CANNOT_PULL = ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"];
const CANNOT_CREATE = ["CreateContainerConfigError", "CreateContainerError", "RunContainerError"];

/**
 * Judges a pod by the first check that applies; if none does, the pod is starting.
 * @param intent facts about the session that the pod does not show
 */
export function podVerdict(pod: ObservedPod, intent: SessionIntent = { stopping: false }): PodVerdict {
  for (const check of CHECKS) {
    const verdict = check(pod, intent);
    if (verdict !== undefined) return verdict;
  }
  return { status: "starting", reason: "", error: "" };
}

/**
 * The whole pod was ended from outside: eviction, preemption, a node that was drained or shut down. If the agent exits
 * with 0 when asked to, the pod looks as if it had ended by itself.
 */
const evicted: Check = ({ status, deletedAt }, { stopping }) => {
  const disrupted = disruptionOf(status);
  const isOver = status.phase === "Failed" || (status.phase === "Succeeded" && !stopping);
  const isKnown = disrupted !== undefined || EVICTIONS.includes(status.reason);
  const isTold = !isKnown && !stopping && deletedAt === undefined && wasTerminated(status);
  if (!isOver || !(isKnown || isTold)) return undefined;
  const reason = status.reason || disrupted?.reason || "Terminated";
  const why = sentence(status.message || disrupted?.message);
  return failed(reason, `the cluster ${isTold ? "ended" : "evicted"} the pod${why}; its history is lost`);
};

/** The node refused the pod after scheduling: no room, a taint, a port in use. */
const refusedByNode: Check = ({ status }) => {
  const isRefusal = status.phase === "Failed" && status.reason !== "" && status.containers.length === 0;
  return isRefusal ? failed(status.reason, `the node refused the pod${sentence(status.message)}`) : undefined;
};

/**
 * The node does not answer. The agent may still be running, so the session has not failed; the pod's status will show
 * more when the node is back.
 */
const nodeLost: Check = ({ status, nodeName, deletedAt }, { stopping }) => {
  const isLost = status.reason === "NodeLost" || status.phase === "Unknown" || wasMarkedNotReady(status);
  if (!isLost) return undefined;
  const error = `the node ${nodeName} does not answer: it is not known whether the agent is running`;
  return { status: deletedAt === undefined && !stopping ? "running" : "stopping", reason: "NodeLost", error };
};

/** The pod has ended by itself: all containers have ended, and none will be restarted. */
const ended: Check = ({ status, deletedAt }, { stopping }) => {
  const wasDeleted = deletedAt !== undefined && !stopping;
  if (status.phase === "Succeeded") return { status: "stopped", reason: wasDeleted ? "Deleted" : "", error: "" };
  if (status.phase !== "Failed") return undefined;
  const initEnd = endedBadly(status.initContainers);
  if (initEnd !== undefined) return failed("InitFailed", `${initEnd.name} failed${endText(initEnd.end)}`);
  const end = endedBadly(status.containers);
  if (end === undefined) return failed(status.reason || "Failed", `the pod failed${sentence(status.message)}`);
  if (end.end.reason === "OOMKilled") return failed("OOMKilled", OUT_OF_MEMORY);
  if (wasDeleted) return { status: "stopped", reason: "Deleted", error: "" };
  if (stopping) return { status: "stopped", reason: "", error: "" };
  return failed(end.end.reason || "Error", `the agent ended${endText(end.end)}`);
};

/** Deletion or a stop was requested: the containers may run until their grace period ends. */
const beingDeleted: Check = ({ deletedAt, status }, { stopping }) => {
  if (deletedAt !== undefined) {
    return { status: "stopping", reason: disruptionOf(status)?.reason ?? "Terminating", error: "" };
  }
  return stopping ? { status: "stopping", reason: "", error: "" } : undefined;
};

/** A container that runs before the agent's, for the clone or the workspace, fails repeatedly. */
const initFailing: Check = ({ status }) => {
  const failing = status.initContainers.find((one) => isCrashLooping(one) || hasFailedAgain(one));
  if (failing === undefined) return undefined;
  const end = failing.state.type === "terminated" ? failing.state : failing.lastEnd;
  return failed("InitFailed", `${failing.name} fails repeatedly${endText(end)}`);
};

const cannotPull: Check = ({ status }) => waitingFor(status, CANNOT_PULL, "cannot get the image");

const cannotCreate: Check = ({ status }) => waitingFor(status, CANNOT_CREATE, "cannot create the container");

/** The kubelet restarts a container with growing delays. Lack of memory is reported as such. */
const crashLooping: Check = ({ status }) => {
  const failing = status.containers.find(isCrashLooping);
  if (failing === undefined) return undefined;
  if (failing.lastEnd?.reason === "OOMKilled") return failed("OOMKilled", OUT_OF_MEMORY);
  return failed("CrashLoopBackOff", `the agent's container ends repeatedly${endText(failing.lastEnd)}`);
};

/** No node accepts the pod. It starts by itself once the cluster changes. */
const unschedulable: Check = ({ status }) => {
  const scheduled = status.conditions.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status !== "False" || scheduled.reason !== "Unschedulable") return undefined;
  return {
    status: "starting",
    reason: "Unschedulable",
    error: `no node accepts the pod${sentence(scheduled.message)}`,
  };
};

/** The pod waits for its certificate. */
const gated: Check = ({ gates }) =>
  gates.length > 0 ? { status: "starting", reason: "SchedulingGated", error: "" } : undefined;

/**
 * The sidecar is serving, or has served, which the startup probe of an embedded container shows. The sidecar itself
 * reports the agent's state. A kill for lack of memory remains visible as the reason after the restart.
 */
const running: Check = ({ status }) => {
  const { containers } = status;
  const hasServed = containers.length > 0 && containers.every(({ started, early }) => started && !early);
  if (readyCondition(status)?.status !== "True" && !hasServed) return undefined;
  const wasKilled = containers.some(({ lastEnd }) => lastEnd?.reason === "OOMKilled");
  return { status: "running", reason: wasKilled ? "OOMKilled" : "", error: "" };
};

/** The cluster considers the pod ready: its sidecar serves, and the agent is alive. */
export function isReady({ status }: ObservedPod): boolean {
  return readyCondition(status)?.status === "True";
}

/** The sidecar's container has started, so it may answer. */
export function hasSidecarStarted({ status: { containers } }: ObservedPod): boolean {
  const early = containers.filter((one) => one.early);
  return (early.length > 0 ? early : containers).some(({ started }) => started);
}

const CHECKS: readonly Check[] = [
  evicted,
  refusedByNode,
  ended,
  nodeLost,
  beingDeleted,
  initFailing,
  cannotPull,
  cannotCreate,
  crashLooping,
  unschedulable,
  gated,
  running,
];

const EVICTIONS = ["Evicted", "Preempting", "Shutdown", "NodeShutdown", "Terminated"];
/** The termination message that the first process of a container leaves if a signal ended it. */
const TERMINATED = "ended from outside";
const NEVER_RAN = ["StartError", "ContainerCannotRun", "ContainerStatusUnknown"];
const OUT_OF_MEMORY = "the agent's container ran out of memory";

/**
 * The verdict on a pod that the API server refused.
 * @param code HTTP status
 * @param message message of the API server
 */
export function refusalVerdict(code: number, message: string): PodVerdict {
  if (/exceeded quota/.test(message))
    return failed("QuotaExceeded", `the namespace's quota is used up${sentence(message)}`);
  if (/violates PodSecurity/.test(message))
    return failed("PodSecurity", `the namespace refuses the pod${sentence(message)}`);
  const isAdmission = code === 403 || code === 422 || /admission|denied the request/.test(message);
  return failed(isAdmission ? "AdmissionRefused" : "CreateFailed", `the cluster refused the pod${sentence(message)}`);
}

function waitingFor(status: PodFacts, reasons: readonly string[], what: string): PodVerdict | undefined {
  for (const { name, state } of [...status.initContainers, ...status.containers]) {
    if (state.type === "waiting" && reasons.includes(state.reason)) {
      return failed(state.reason, `${what} of ${name}${sentence(state.message)}`);
    }
  }
  return undefined;
}

function isCrashLooping({ state }: ContainerFacts): boolean {
  return state.type === "waiting" && state.reason === "CrashLoopBackOff";
}

/** True between two attempts, before the kubelet reports its back-off. */
function hasFailedAgain({ state, restarts }: ContainerFacts): boolean {
  return restarts > 0 && state.type === "terminated" && state.exitCode !== 0;
}

function endedBadly(containers: readonly ContainerFacts[]) {
  for (const { name, state } of containers) {
    if (state.type === "terminated" && state.exitCode !== 0) return { name, end: state };
  }
  return undefined;
}

/**
 * The message of a program that ran is its own and is not repeated; that of a program that never ran is the runtime's.
 */
function endText(end: ContainerEnd | undefined): string {
  if (end === undefined) return "";
  return ` with code ${end.exitCode}${NEVER_RAN.includes(end.reason) ? sentence(end.message) : ""}`;
}

function wasTerminated({ containers }: PodFacts): boolean {
  return containers.some(({ state }) => state.type === "terminated" && state.message === TERMINATED);
}

/** The cluster marks the pods of an unreachable node as not ready without a reason. A kubelet always gives a reason. */
function wasMarkedNotReady(status: PodFacts): boolean {
  const ready = readyCondition(status);
  if (ready?.reason === "NodeStatusUnknown") return true;
  return status.phase === "Running" && ready?.status === "False" && ready.reason === "";
}

function readyCondition({ conditions }: PodFacts): PodCondition | undefined {
  return conditions.find(({ type }) => type === "Ready");
}

function disruptionOf({ conditions }: PodFacts): PodCondition | undefined {
  return conditions.find(({ type, status }) => type === "DisruptionTarget" && status === "True");
}

/** Formats a message of the cluster as the end of a sentence: one bounded line without control characters. */
function sentence(message: string | undefined): string {
  const line = (message ?? "")
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim()
    .replace(/\.$/, "");
  if (line === "") return "";
  return `: ${line.length > 300 ? `${line.slice(0, 299)}…` : line}`;
}

function failed(reason: string, error: string): PodVerdict {
  return { status: "failed", reason, error };
}
