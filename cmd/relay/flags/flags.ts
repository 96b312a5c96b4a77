import type { CommandFlags } from "../../../internal/cli/command/command.ts";
import { LOG_LEVELS } from "../../../internal/cli/command/log-level.ts";

/** Flags of commands that use NATS. A flag overrides its environment variable, which overrides the file. */
export const NATS_FLAGS = {
  config: {
    ...{ type: "string", short: "c", value: "FILE", complete: "file" },
    help: "the configuration (relay.yaml of this folder, if it is there)",
  },
  "nats-url": {
    ...{ type: "string", value: "URL", env: "OUROCODUS_NATS_URL" },
    help: "NATS, with JetStream (nats://127.0.0.1:4222)",
  },
  "nats-creds": {
    ...{ type: "string", value: "FILE", complete: "file" },
    help: "a NATS user's JWT and seed, as nsc writes them",
  },
  "nats-nkey": { ...{ type: "string", value: "FILE", complete: "file" }, help: "the seed of a NATS user's nkey" },
  "nats-tls-dir": {
    ...{ type: "string", value: "DIR", complete: "file" },
    help: "TLS to NATS: ca.crt, and tls.crt with tls.key if the server asks for a certificate",
  },
  "stream-prefix": { type: "string", value: "NAME", help: "what the names of the streams begin with (RELAY)" },
} as const satisfies CommandFlags;

export const SERVE_FLAGS = {
  ...NATS_FLAGS,
  listen: {
    ...{ type: "string", value: "HOST:PORT" },
    help: "for agents (127.0.0.1:8080; OUROCODUS_RELAY_PORT sets the port)",
  },
  "health-listen": { type: "string", value: "HOST:PORT", help: "/livez, /readyz, /metrics (127.0.0.1:8081)" },
  "relay-id": { type: "string", value: "NAME", help: "in the first frame (relay_main)" },
  "ping-interval": {
    ...{ type: "string", value: "SECONDS", env: "OUROCODUS_PING_INTERVAL" },
    help: "between pings to an agent (30)",
  },
  "pong-timeout": {
    ...{ type: "string", value: "SECONDS", env: "OUROCODUS_PONG_TIMEOUT" },
    help: "until an agent without a pong is gone (10)",
  },
  "max-message-bytes": { type: "number", value: "N", help: "of work and of a frame (524288)" },
  "tls-dir": {
    ...{ type: "string", value: "DIR", complete: "file" },
    help: "TLS: tls.crt, tls.key, ca.crt of the agents' certificates, crl.pem if there is one",
  },
  "insecure-plaintext": { type: "boolean", help: "another address than loopback, without TLS" },
  "allow-host": { type: "list", value: "NAME", help: "a host name that may be in Host and Origin; repeatable" },
  "log-level": { type: "string", value: "LEVEL", help: `${LOG_LEVELS.join(", ")} (info)`, complete: LOG_LEVELS },
} as const satisfies CommandFlags;

const LANE_FLAGS = {
  session: { type: "string", value: "S", help: "the session" },
  role: { type: "string", value: "R", help: "the role in it" },
} as const satisfies CommandFlags;

export const SEND_FLAGS = {
  ...LANE_FLAGS,
  id: { type: "string", value: "ID", help: "of the work (a new one)" },
  requirement: { type: "list", value: "TEXT", help: "a requirement for the answer; repeatable" },
  "tool-result": { type: "string", value: "TOOL_ID", help: "TASK is the result of this tool" },
  continue: { type: "boolean", help: "continue the conversation of the lane" },
  wait: { type: "boolean", help: "print the results until the last one" },
  timeout: { type: "duration", value: "TIME", help: "how long to wait for them (30m)" },
  ...NATS_FLAGS,
} as const satisfies CommandFlags;

export const RESULTS_FLAGS = {
  ...LANE_FLAGS,
  id: { type: "string", value: "ID", help: "only those of this work" },
  follow: { type: "boolean", help: "continue with new results" },
  ...NATS_FLAGS,
} as const satisfies CommandFlags;

export const STATUS_FLAGS = {
  json: { type: "boolean", help: "print what the relays answer, as JSON" },
  ...NATS_FLAGS,
} as const satisfies CommandFlags;

export const DEAD_FLAGS = {
  session: { type: "string", value: "S", help: "only of this session" },
  ...NATS_FLAGS,
} as const satisfies CommandFlags;

const AGENT_FLAGS = {
  ...LANE_FLAGS,
  "agent-id": { type: "string", value: "A", help: "the agent's own name" },
} as const satisfies CommandFlags;

export const NATS_PLACE_FLAGS = {
  nkey: {
    ...{ type: "string", value: "FILE", complete: "file" },
    help: "the seed of the user's nkey; made, with mode 0600, if it is not there",
  },
  "stream-prefix": NATS_FLAGS["stream-prefix"],
} as const satisfies CommandFlags;

export const NATS_SERVER_FLAGS = {
  "agents-protocol": { type: "boolean", help: "for agents_protocol: true in relay.yaml" },
  ...NATS_PLACE_FLAGS,
} as const satisfies CommandFlags;

export const NATS_USER_FLAGS = {
  session: LANE_FLAGS.session,
  can: { type: "string", value: "LIST", help: "what the user may do: submit, read, approve" },
  ...NATS_PLACE_FLAGS,
} as const satisfies CommandFlags;

/** Flags of the issuer that signs an agent's token. */
export const SIGN_FLAGS = {
  "jwt-key": {
    ...{ type: "string", value: "FILE", complete: "file" },
    help: "the issuer's private Ed25519 key (PEM)",
  },
  "jwt-issuer": { type: "string", value: "NAME", help: "the issuer of the key, as the relay knows it" },
  project: { type: "string", value: "NAME", help: "the project that the token is for" },
  audience: { type: "string", value: "NAME", help: "the audience, as the relay's jwt_audience (relay)" },
} as const satisfies CommandFlags;

export const TOKEN_FLAGS = {
  ...AGENT_FLAGS,
  ...SIGN_FLAGS,
  subject: { type: "string", value: "NAME", help: "the caller's name, in the audit log (the agent's name)" },
  ttl: { type: "duration", value: "TIME", help: "how long it is valid, 5m at most (5m)" },
  cert: {
    ...{ type: "string", value: "FILE", complete: "file" },
    help: "bind it to this certificate: it is not valid over others",
  },
  file: {
    ...{ type: "string", value: "FILE", complete: "file" },
    help: "write it there (0600), and replace it at half of its life until stopped",
  },
} as const satisfies CommandFlags;

export const DIAL_FLAGS = {
  server: { type: "string", value: "URL", help: "the relay, e.g. ws://127.0.0.1:8080, or wss:// with --tls-dir" },
  ...AGENT_FLAGS,
  "tls-dir": {
    ...{ type: "string", value: "DIR", complete: "file" },
    help: "TLS: the agent's tls.crt and tls.key, ca.crt of the relay, crl.pem if there is one",
  },
  "token-file": {
    ...{ type: "string", value: "FILE", complete: "file" },
    help: "the agent's token, read again for each connection and renewal",
  },
  ...SIGN_FLAGS,
} as const satisfies CommandFlags;

export const ACP_FLAGS = {
  server: DIAL_FLAGS.server,
  session: { type: "string", value: "S", help: "the session (a new one for each session of the editor)" },
  role: LANE_FLAGS.role,
  "tls-dir": {
    ...{ type: "string", value: "DIR", complete: "file" },
    help: "TLS: the editor's tls.crt and tls.key, ca.crt of the relay, crl.pem if there is one",
  },
  "token-file": { ...{ type: "string", value: "FILE", complete: "file" }, help: "a token for the session and role" },
} as const satisfies CommandFlags;
