import type { StreamNames } from "./stream-specs.ts";
import { subjects } from "./subjects.ts";

/** The permissions of a user of NATS, as subjects with wildcards. */
export interface NatsPermissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
  /** How often, and for how long, the user may publish to the reply subject of each request that it receives. */
  readonly answers: { readonly max: number; readonly expires: string } | undefined;
  /** The prefix of the user's inboxes, which no other user may subscribe to. */
  readonly inboxPrefix: string;
}

/** The rights that a session's user can have. */
export const RIGHTS = ["submit", "read", "approve"] as const;
export type Right = (typeof RIGHTS)[number];

/** Subjects of the services that agents offer, and of the requests that discover services. */
const SERVICES: readonly string[] = [
  ...["prompt", "status", "query"].map((verb) => `agents.${verb}.*.*.*`),
  ...["PING", "INFO", "STATS"].flatMap((verb) => ["", ".agents", ".agents.*"].map((of) => `$SRV.${verb}${of}`)),
];

const api = (call: string) => `$JS.API.${call}`;

/** A control message or a call to a relay gets one answer. */
const ONE = { max: 1, expires: "5m" };
/** A prompt in the agent protocol gets any number of answers. */
const MANY = { max: -1, expires: "1h" };

/**
 * The permissions that a relay and its operator's commands need.
 * @param agentsProtocol true: the relay offers agents as services
 */
export function relayPermissions(streams: StreamNames, agentsProtocol = false): NatsPermissions {
  const inboxPrefix = "_INBOX_relay";
  const all = Object.values(streams);
  const ofStream = (name: string) => [
    ...[api(`STREAM.INFO.${name}`), api(`STREAM.CREATE.${name}`), api(`CONSUMER.CREATE.${name}`)],
    ...[api(`CONSUMER.CREATE.${name}.>`), api(`CONSUMER.DURABLE.CREATE.${name}.*`), api(`CONSUMER.INFO.${name}.*`)],
    ...[api(`CONSUMER.DELETE.${name}.*`), api(`CONSUMER.MSG.NEXT.${name}.*`)],
  ];
  const ofTaken = (name: string) => [api(`STREAM.MSG.GET.${name}`), api(`STREAM.MSG.DELETE.${name}`)];
  return {
    publish: [
      ...["work", "results", "dead", "progress", "control"].map((what) => `sessions.*.${what}.*`),
      ...["sessions.*.events", "sessions.*.approvals", "relay.lanes.*.*", subjects.status, subjects.instance("*")],
      ...all.flatMap(ofStream),
      ...ofTaken(streams.work),
      ...ofTaken(streams.dead),
      ...[api(`CONSUMER.NAMES.${streams.work}`), `$JS.ACK.${streams.work}.>`],
      ...(agentsProtocol ? ["agents.hb.*.*.*"] : []),
    ],
    subscribe: [
      ...[subjects.allControl, "sessions.*.approvals", "sessions.*.work.*", subjects.status, subjects.instance("*")],
      ...["sessions.*.results.*", "sessions.*.progress.*", "sessions.*.dead.*"], // for editors
      ...(agentsProtocol ? SERVICES : []),
      `${inboxPrefix}.>`,
    ],
    answers: agentsProtocol ? MANY : ONE,
    inboxPrefix,
  };
}

/**
 * The permissions of a user of the session S. They name the user's consumers exactly: `reader-S` of results and of
 * events, and `approvals-S`. A wildcard would let the user replace the consumers of other users; a subject without the
 * filter would let the user read all sessions.
 */
export function sessionPermissions(streams: StreamNames, sessionId: string, can: readonly Right[]): NatsPermissions {
  const inboxPrefix = `_INBOX_${sessionId}`;
  const of = (what: string) => `sessions.${sessionId}.${what}`;
  const reading = (stream: string, name: string, filter: string) => {
    const at = `${stream}.${name}-${sessionId}`;
    return [
      ...[api(`CONSUMER.CREATE.${at}.${filter}`), api(`CONSUMER.INFO.${at}`), api(`CONSUMER.MSG.NEXT.${at}`)],
      `$JS.ACK.${at}.>`,
    ];
  };
  const publish: Readonly<Record<Right, readonly string[]>> = {
    submit: [of("work.*"), of("control.*")],
    read: [
      ...reading(streams.results, "reader", of("results.*")),
      ...reading(streams.events, "reader", of("events")),
      ...reading(streams.events, "approvals", of("approvals")),
    ],
    approve: [of("approvals")],
  };
  const heard = [of("results.*"), of("progress.*"), of("events"), of("approvals")];
  return {
    publish: RIGHTS.filter((right) => can.includes(right)).flatMap((right) => publish[right]),
    subscribe: [...(can.includes("read") ? heard : []), `${inboxPrefix}.>`],
    answers: undefined,
    inboxPrefix,
  };
}
