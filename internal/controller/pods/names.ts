import { createHash } from "node:crypto";

/** Labels of the cluster's pods and Secrets. */
export const LABELS = {
  agent: "gastown.io/agent",
  rig: "gastown.io/rig",
  role: "gastown.io/role",
  town: "gastown.io/town",
  bead: "gastown.io/bead-id",
  session: "gastown.io/session",
  provider: "gastown.io/provider",
  managedBy: "app.kubernetes.io/managed-by",
} as const;

/** The value of `app.kubernetes.io/managed-by` on all objects that the controller creates. */
export const MANAGED_BY = "gastown";

export const ANNOTATIONS = {
  /** The agent's full address. */
  address: "gastown.io/address",
  /** Serial of the certificate in the pod's Secret. */
  certSerial: "gastown.io/cert-serial",
  /** Hash of the pod's Secret: a change of the annotation makes the kubelet update the Secret's files at once. */
  tlsHash: "gastown.io/tls-hash",
  /** The whole id; the label may have only its hash. */
  sessionId: "gastown.io/session-id",
  repoPath: "gastown.io/repo-path",
  /** JSON. */
  agentOpts: "gastown.io/agent-opts",
  /** Identity of the caller that started the session. */
  startedBy: "gastown.io/started-by",
  /** When StopSession was called, RFC 3339. */
  stopRequested: "gastown.io/stop-requested",
  /** `true`: stop without waiting for the agent. */
  stopForced: "gastown.io/stop-forced",
  /** When the session ended and its retention began, RFC 3339. */
  stoppedAt: "gastown.io/stopped-at",
} as const;

/** The scheduling gate that holds a pod back until its Secret exists. */
export const CERTIFICATE_GATE = "gastown.io/certificate";

const LABEL_VALUE = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const MAX_SLUG = 36;

/**
 * Name of a session's pod; determined by project and id, and different for every session. At most 59 characters, so
 * that it is a valid host name with room for a suffix.
 */
export function podName(project: string, sessionId: string): string {
  const slug = sessionId
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, MAX_SLUG)
    .replace(/^-+|-+$/g, "");
  const hash = sha256(`${project}\0${sessionId}`).slice(0, 16);
  return slug === "" ? `agent-${hash}` : `agent-${slug}-${hash}`;
}

/** Name of the Secret with the certificate of a session that the controller started. */
export function secretName(pod: string): string {
  return `${pod}-tls`;
}

/** Prefix of the name of the Secret that an adopted pod with a session's label mounts. */
export const ADOPTED_SECRET = "gastown-session-";

/**
 * Name of the Secret of an adopted pod, with a prefix that is ours. It follows from the session's label, so that the
 * creator of the pod can mount the Secret; without the label, from the pod's uid.
 */
export function adoptedSecretName(sessionLabel: string | undefined, podUid: string): string {
  if (sessionLabel === undefined || sessionLabel === "") return `gastown-${sha256(podUid).slice(0, 32)}-tls`;
  const isName = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(sessionLabel);
  return `${ADOPTED_SECRET}${isName ? sessionLabel : sha256(sessionLabel).slice(0, 32)}`;
}

/** Name of the Secret with the token of the agent of a session that the controller started. */
export function tokenSecretName(pod: string): string {
  return `${pod}-token`;
}

const TOWN_ROLES = ["mayor", "deacon", "boot"];
const RIG_ROLES = ["witness", "refinery"];

/** The agent's address from the labels of a pod without the annotation; empty: the labels name none. */
export function labelledAddress(labels: Readonly<Record<string, string>>): string {
  const { [LABELS.agent]: agent = "", [LABELS.rig]: rig = "", [LABELS.role]: role = "" } = labels;
  if (TOWN_ROLES.includes(role)) return role;
  if (rig === "" || agent === "") return agent;
  if (RIG_ROLES.includes(role)) return `${rig}/${role}`;
  if (role === "polecat" || role === "crew") return `${rig}/${role === "crew" ? role : "polecats"}/${agent}`;
  return `${rig}/${agent}`;
}

/** Converts a text to a label value: unchanged if Kubernetes allows it, else the first 32 hex digits of its SHA-256. */
export function labelValue(text: string): string {
  return LABEL_VALUE.test(text) ? text : sha256(text).slice(0, 32);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
