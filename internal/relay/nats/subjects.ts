import { createHash } from "node:crypto";

/** A session and one of its roles, whose work is done one piece at a time. */
export interface LaneName {
  readonly sessionId: string;
  readonly role: string;
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** True if `text` may name a session, role or agent in a subject or a path. */
export function isName(text: string): boolean {
  return NAME.test(text);
}

/** `SESSION:ROLE`, the key of a lane. */
export function laneKey({ sessionId, role }: LaneName): string {
  return `${sessionId}:${role}`;
}

export const subjects = {
  work: ({ sessionId, role }: LaneName) => `sessions.${sessionId}.work.${role}`,
  results: ({ sessionId, role }: LaneName) => `sessions.${sessionId}.results.${role}`,
  dead: ({ sessionId, role }: LaneName) => `sessions.${sessionId}.dead.${role}`,
  lane: ({ sessionId, role }: LaneName) => `relay.lanes.${sessionId}.${role}`,
  progress: ({ sessionId, role }: LaneName) => `sessions.${sessionId}.progress.${role}`,
  control: ({ sessionId, role }: LaneName) => `sessions.${sessionId}.control.${role}`,
  /** The control subjects of all lanes. */
  allControl: "sessions.*.control.*",
  events: (sessionId: string) => `sessions.${sessionId}.events`,
  approvals: (sessionId: string) => `sessions.${sessionId}.approvals`,
  /** Requests to all replicas. */
  status: "relay.ctl",
  /** Requests to one replica. */
  instance: (instance: string) => `relay.ctl.${instance}`,
} as const;

/** The lane of a subject such as `sessions.SID.work.ROLE`; undefined: the subject names no lane. */
export function laneOfSubject(subject: string): LaneName | undefined {
  const [root, sessionId = "", , role = "", ...rest] = subject.split(".");
  if (root !== "sessions" || rest.length > 0 || !isName(sessionId) || !isName(role)) return undefined;
  return { sessionId, role };
}

/** True if a subject matches a pattern, in which `*` stands for one token. */
export function covers(pattern: string, subject: string): boolean {
  const [wanted, given] = [pattern.split("."), subject.split(".")];
  return wanted.length === given.length && wanted.every((token, i) => token === "*" || token === given[i]);
}

/** True for a subject of the relay or the server, which a request must not name as its reply subject. */
export function isReserved(subject: string): boolean {
  return /^(?:sessions|relay|\$[^.]*)(?:\.|$)/.test(subject);
}

/** The name of the durable consumer of a generation's holder. */
export function consumerName(lane: LaneName, generation: number): string {
  return `${consumerPrefix(lane)}${generation}`;
}

/** The prefix of the names of all consumers of a lane. */
export function consumerPrefix({ sessionId, role }: LaneName): string {
  const digest = createHash("sha256").update(`${sessionId}\0${role}`).digest("hex");
  return `L-${digest.slice(0, 16)}-`;
}

/** The `Nats-Msg-Id` of work or of a part of its answer. Characters that a header cannot hold are percent-encoded. */
export function messageId({ sessionId, role }: LaneName, id: string, part?: number): string {
  const safe = id.replace(/[^\x21-\x24\x26-\x7e]/gu, (char) => encodeURIComponent(char));
  return [sessionId, role, safe, ...(part === undefined ? [] : [String(part)])].join("/");
}
