import { profileChoice, profileNames } from "../../internal/agents/known-programs.ts";
import type { CommandFlags, FlagSection } from "../../internal/cli/command/command.ts";
import { LOG_LEVELS } from "../../internal/cli/command/log-level.ts";

/** The agent and its terminal. */
const AGENT_FLAGS = {
  agent: { type: "string", value: "NAME", env: "GT_AGENT", help: `${profileChoice} (claude)`, complete: profileNames },
  workdir: {
    type: "string",
    value: "DIR",
    env: "GT_AGENT_WORKDIR",
    help: "where it works (the current folder)",
    complete: "folder",
  },
  restart: {
    type: "string",
    value: "WHEN",
    env: "GT_AGENT_RESTART",
    help: "always, on-failure or never (on-failure)",
    complete: ["always", "on-failure", "never"],
  },
  linger: {
    type: "duration",
    value: "TIME",
    env: "GT_SIDECAR_LINGER",
    help: "keep serving for this long after it ends (0)",
  },
  "stall-after": { type: "duration", value: "TIME", help: "when busy without a sign of life counts as stalled (10m)" },
  cols: { type: "number", value: "N", help: "columns of its terminal (160)" },
  rows: { type: "number", value: "N", help: "lines of its terminal (50)" },
  "history-limit": { type: "number", value: "N", help: "lines kept above the screen (20000)" },
  "session-id": { type: "string", value: "ID", env: "GT_SESSION_ID", help: "the session's id (random)" },
  project: { type: "string", value: "NAME", env: "GT_PROJECT", help: "the session's project (default)" },
  address: { type: "string", value: "ADDRESS", env: "GT_AGENT_ADDRESS", help: "its name for gt (the host's name)" },
} as const satisfies CommandFlags;

/** The tools with which the agent reads and writes threads. */
const THREADS_FLAGS = {
  threads: {
    type: "string",
    value: "URL",
    env: "GT_THREADS",
    help: "a threads server: the agent gets its tools, and uses them without asking",
  },
  "threads-token": {
    type: "string",
    value: "FILE",
    env: "GT_THREADS_TOKEN_FILE",
    help: "the file with the agent's token, read at each call; may come later (threads token --file)",
    complete: "file",
  },
  "threads-ca": {
    type: "string",
    value: "FILE",
    env: "GT_THREADS_CA",
    help: "the file with the CA of the server's certificate (the system's)",
    complete: "file",
  },
} as const satisfies CommandFlags;

/** The listeners, the callers that they serve, and the limits of what is kept for them. */
const SERVING_FLAGS = {
  listen: {
    type: "string",
    value: "HOST:PORT",
    env: "GT_SIDECAR_LISTEN",
    help: "RPC (127.0.0.1:9090; port 0: any free one), or unix:PATH, a socket in a folder of mode 0700 (no TLS)",
  },
  "health-listen": {
    type: "string",
    value: "HOST:PORT",
    env: "GT_SIDECAR_HEALTH_LISTEN",
    help: "/livez, /readyz, /metrics (127.0.0.1:9091), or unix:PATH",
  },
  "tls-dir": {
    type: "string",
    value: "DIR",
    env: "GT_TLS_DIR",
    help: "tls.crt, tls.key, ca.crt, optional crl.pem",
    complete: "folder",
  },
  "allow-client": {
    type: "list",
    value: "RULE",
    env: "GT_ALLOW_CLIENTS",
    help: "who may do what: spiffe://domain/path=ROLE, or CA-SHA256/CN=… for a certificate without such a name; roles are read, nudge and operate. May repeat",
  },
  "jwt-key": {
    type: "list",
    value: "ISSUER=FILE",
    env: "GT_JWT_KEYS",
    help: "accept this issuer's tokens for roles; public Ed25519 key, may repeat",
  },
  "jwt-audience": {
    type: "string",
    value: "NAME",
    env: "GT_JWT_AUDIENCE",
    help: "the audience of those tokens (gt-sidecar)",
  },
  "crl-policy": {
    type: "string",
    value: "WORD",
    env: "GT_CRL_POLICY",
    help: "if-present: a CA without a revocation list has revoked nothing (the default)\nrequire: callers of such a CA are refused",
    complete: ["if-present", "require"],
  },
  "audit-log": {
    type: "string",
    value: "FILE",
    env: "GT_AUDIT_LOG",
    help: "one JSON line for each decision about a caller; default: stderr with --jwt-key, otherwise none",
    complete: "file",
  },
  "insecure-plaintext": {
    type: "boolean",
    env: "GT_SIDECAR_INSECURE",
    help: "serve addresses other than loopback without TLS",
  },
  "allow-local-user": {
    type: "list",
    value: "USER",
    env: "GT_ALLOW_LOCAL_USERS",
    help: "a user of this machine (name, uid or any) that a plaintext port on loopback serves beside the sidecar's own and root, may repeat",
  },
  "allow-host": { type: "list", value: "NAME", help: "a host name that plaintext callers may use, may repeat" },
  "raw-bytes": { type: "number", value: "N", help: "bytes of raw output kept for watchers that reconnect (8 MiB)" },
  "event-buffer": { type: "number", value: "N", help: "events kept for readers that reconnect (10000)" },
  "event-bytes": { type: "number", value: "N", help: "the most bytes that those events may use (16 MiB)" },
  "redact-pattern": {
    type: "list",
    allowEmpty: true,
    value: "RE2",
    help: 'a secret in events and logs, may repeat; replaces the built-in patterns (keys, tokens, passwords); "" turns redaction off',
  },
} as const satisfies CommandFlags;

/** The sidecar's own flags. */
const OTHER_FLAGS = {
  "state-dir": {
    type: "string",
    value: "DIR",
    env: "GT_SIDECAR_STATE_DIR",
    help: "sockets, journal (XDG_RUNTIME_DIR/gt-sidecar or a private folder)",
    complete: "folder",
  },
  grace: {
    type: "duration",
    value: "TIME",
    env: "GT_SIDECAR_GRACE",
    help: "time from the request to stop until the agent is killed (10s)",
  },
  "log-level": {
    type: "string",
    value: "LEVEL",
    help: "debug, info, warn, error or silent (info)",
    complete: LOG_LEVELS,
  },
} as const satisfies CommandFlags;

/** The flags of both halves. */
export const SIDECAR_FLAGS = { ...AGENT_FLAGS, ...THREADS_FLAGS, ...SERVING_FLAGS, ...OTHER_FLAGS } as const;

export const SIDECAR_SECTIONS: readonly FlagSection[] = [
  { heading: "Agent:", names: Object.keys(AGENT_FLAGS) },
  { heading: "Threads:", names: Object.keys(THREADS_FLAGS) },
  { heading: "Serving:", names: Object.keys(SERVING_FLAGS) },
  { heading: "Other:", names: Object.keys(OTHER_FLAGS) },
];
