import { createHash } from "node:crypto";

/** What the pods and Secrets of a cluster are known by. */
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

/** The value of `app.kubernetes.io/managed-by` on everything that is created here. */
export const MANAGED_BY = "gastown";

export const ANNOTATIONS = {
  /** The agent's full address. */
  address: "gastown.io/address",
  /** Serial of the certificate that the pod's Secret holds. */
  certSerial: "gastown.io/cert-serial",
  /** Hash of what the pod's Secret holds: when it changes, the kubelet brings the Secret's files up to date at once. */
  tlsHash: "gastown.io/tls-hash",
  /** The whole id, of which the label may hold the hash only. */
  sessionId: "gastown.io/session-id",
  repoPath: "gastown.io/repo-path",
  /** JSON. */
  agentOpts: "gastown.io/agent-opts",
  /** Identity of the caller that started the session. */
  startedBy: "gastown.io/started-by",
  /** When StopSession was called, RFC 3339. */
  stopRequested: "gastown.io/stop-requested",
  /** `true`: without waiting for the agent. */
  stopForced: "gastown.io/stop-forced",
  /** When the session had ended, RFC 3339: its retention begins. */
  stoppedAt: "gastown.io/stopped-at",
} as const;

/** The gate that holds a pod back until its Secret exists. */
export const CERTIFICATE_GATE = "gastown.io/certificate";

const LABEL_VALUE = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const MAX_SLUG = 36;

/**
 * Name of a session's pod: the same for the same project and id, another one for every other session. At most 59
 * characters, so that it is a host name and has room for a suffix.
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

/** Begins the name of the Secret that an adopted pod with a session's label mounts. */
export const ADOPTED_SECRET = "gastown-session-";

/**
 * Name of the Secret of an adopted pod, in a name space that is ours: it follows from the session's label, so that
 * the creator of the pod can mount it; without the label, from the pod's uid.
 */
export function adoptedSecretName(sessionLabel: string | undefined, podUid: string): string {
  if (sessionLabel === undefined || sessionLabel === "") return `gastown-${sha256(podUid).slice(0, 32)}-tls`;
  const isName = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(sessionLabel);
  return `${ADOPTED_SECRET}${isName ? sessionLabel : sha256(sessionLabel).slice(0, 32)}`;
}

/** Name of the Secret with the token of such a session's agent. */
export function tokenSecretName(pod: string): string {
  return `${pod}-token`;
}

const TOWN_ROLES = ["mayor", "deacon", "boot"];
const RIG_ROLES = ["witness", "refinery"];

/** The address of an agent whose pod does not state it, as its labels have it; empty: they have none. */
export function labelledAddress(labels: Readonly<Record<string, string>>): string {
  const { [LABELS.agent]: agent = "", [LABELS.rig]: rig = "", [LABELS.role]: role = "" } = labels;
  if (TOWN_ROLES.includes(role)) return role;
  if (rig === "" || agent === "") return agent;
  if (RIG_ROLES.includes(role)) return `${rig}/${role}`;
  if (role === "polecat" || role === "crew") return `${rig}/${role === "crew" ? role : "polecats"}/${agent}`;
  return `${rig}/${agent}`;
}

/** A text as the value of a label: itself where Kubernetes allows it, else the first 32 hex digits of its SHA-256. */
export function labelValue(text: string): string {
  return LABEL_VALUE.test(text) ? text : sha256(text).slice(0, 32);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
