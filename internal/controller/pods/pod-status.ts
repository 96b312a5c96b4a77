import type { SessionInfo } from "../../bridge/session-backend.ts";
import type { ContainerEnd, ContainerFacts, ObservedPod, PodCondition, PodFacts } from "./observed-pod.ts";

/** Where a session stands, as its pod shows it. */
export type PodVerdict = Pick<SessionInfo, "status" | "reason" | "error">;

/** What a pod cannot tell: that its session was asked to stop. */
export interface SessionIntent {
  readonly stopping: boolean;
}

type Check = (pod: ObservedPod, intent: SessionIntent) => PodVerdict | undefined;

/** Waiting reasons that do not pass by themselves within seconds. The kubelet continues trying all the same. */
const CANNOT_PULL = ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"];
const CANNOT_CREATE = ["CreateContainerConfigError", "CreateContainerError", "RunContainerError"];

/**
 * Judges a pod. The first check that knows decides; a pod that none of them knows is starting.
 * @param intent what is known of the session beside its pod
 */
export function podVerdict(pod: ObservedPod, intent: SessionIntent = { stopping: false }): PodVerdict {
  for (const check of CHECKS) {
    const verdict = check(pod, intent);
    if (verdict !== undefined) return verdict;
  }
  return { status: "starting", reason: "", error: "" };
}

/**
 * The whole pod was ended from outside: eviction, preemption, a node that was drained or shut down. An agent that ends
 * with 0 on request makes its pod look as if it had ended by itself.
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

/** The node refused the pod after it was scheduled: no room, a taint, a port in use. */
const refusedByNode: Check = ({ status }) => {
  const isRefusal = status.phase === "Failed" && status.reason !== "" && status.containers.length === 0;
  return isRefusal ? failed(status.reason, `the node refused the pod${sentence(status.message)}`) : undefined;
};

/**
 * Its node does not answer. The agent may well run on, so it has not failed; when the node is back, the pod says more.
 */
const nodeLost: Check = ({ status, nodeName, deletedAt }, { stopping }) => {
  const isLost = status.reason === "NodeLost" || status.phase === "Unknown" || wasMarkedNotReady(status);
  if (!isLost) return undefined;
  const error = `the node ${nodeName} does not answer: it is not known whether the agent is running`;
  return { status: deletedAt === undefined && !stopping ? "running" : "stopping", reason: "NodeLost", error };
};

/** Its own end: every container has ended and none is started again. */
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

/** Deletion was requested: its containers have until their grace period ends. */
const beingDeleted: Check = ({ deletedAt, status }, { stopping }) => {
  if (deletedAt !== undefined) {
    return { status: "stopping", reason: disruptionOf(status)?.reason ?? "Terminating", error: "" };
  }
  return stopping ? { status: "stopping", reason: "", error: "" } : undefined;
};

/** A container of its own before the agent's: the clone, the workspace. */
const initFailing: Check = ({ status }) => {
  const failing = status.initContainers.find((one) => isCrashLooping(one) || hasFailedAgain(one));
  if (failing === undefined) return undefined;
  const end = failing.state.type === "terminated" ? failing.state : failing.lastEnd;
  return failed("InitFailed", `${failing.name} fails repeatedly${endText(end)}`);
};

const cannotPull: Check = ({ status }) => waitingFor(status, CANNOT_PULL, "cannot get the image");

const cannotCreate: Check = ({ status }) => waitingFor(status, CANNOT_CREATE, "cannot create the container");

/** The kubelet restarts it with growing delays. Lack of memory is reported as such. */
const crashLooping: Check = ({ status }) => {
  const failing = status.containers.find(isCrashLooping);
  if (failing === undefined) return undefined;
  if (failing.lastEnd?.reason === "OOMKilled") return failed("OOMKilled", OUT_OF_MEMORY);
  return failed("CrashLoopBackOff", `the agent's container ends repeatedly${endText(failing.lastEnd)}`);
};

/** No node accepts it. It starts by itself once the cluster changes. */
const unschedulable: Check = ({ status }) => {
  const scheduled = status.conditions.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status !== "False" || scheduled.reason !== "Unschedulable") return undefined;
  return {
    status: "starting",
    reason: "Unschedulable",
    error: `no node accepts the pod${sentence(scheduled.message)}`,
  };
};

/** It waits for its certificate. */
const gated: Check = ({ gates }) =>
  gates.length > 0 ? { status: "starting", reason: "SchedulingGated", error: "" } : undefined;

/**
 * Its sidecar serves, or has served: in one container the startup probe says so. How the agent is, the sidecar says. An
 * end for lack of memory stays visible as the reason after the restart.
 */
const running: Check = ({ status }) => {
  const { containers } = status;
  const hasServed = containers.length > 0 && containers.every(({ started, early }) => started && !early);
  if (readyCondition(status)?.status !== "True" && !hasServed) return undefined;
  const wasKilled = containers.some(({ lastEnd }) => lastEnd?.reason === "OOMKilled");
  return { status: "running", reason: wasKilled ? "OOMKilled" : "", error: "" };
};

/** The cluster counts it as ready: its sidecar serves, and the agent lives. */
export function isReady({ status }: ObservedPod): boolean {
  return readyCondition(status)?.status === "True";
}

/** The container of its sidecar has started, so that it may answer. */
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
/** What the first process of a container leaves as its message when a signal ended it. */
const TERMINATED = "ended from outside";
const NEVER_RAN = ["StartError", "ContainerCannotRun", "ContainerStatusUnknown"];
const OUT_OF_MEMORY = "the agent's container ran out of memory";

/**
 * The verdict on a pod that the API server would not take.
 * @param code HTTP status
 * @param message of the API server's answer
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

/** Between two attempts, before the kubelet says how long it waits. */
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
 * The message of a program that ran is the program's own and is not repeated; that of one that never ran is the
 * runtime's.
 */
function endText(end: ContainerEnd | undefined): string {
  if (end === undefined) return "";
  return ` with code ${end.exitCode}${NEVER_RAN.includes(end.reason) ? sentence(end.message) : ""}`;
}

function wasTerminated({ containers }: PodFacts): boolean {
  return containers.some(({ state }) => state.type === "terminated" && state.message === TERMINATED);
}

/**
 * The cluster marks the pods of a node that it does not hear from, and gives no reason. A kubelet that takes a pod for
 * not ready always gives one.
 */
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

/** What the cluster says, as the end of a sentence: one line without control characters, bounded. */
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
