import type { CommandFlags } from "../../internal/cli/command/command.ts";
import { LOG_LEVELS } from "../../internal/cli/command/log-level.ts";

/** Flags of every command. */
export const COMMON_FLAGS = {
  config: {
    ...{ type: "string", value: "FILE", env: "GT_THREADS_CONFIG", complete: "file" },
    help: "threads.yaml; flags and environment override it",
  },
  "database-url": {
    ...{ type: "string", value: "URL", env: "GT_THREADS_DATABASE_URL" },
    help: "PostgreSQL 15 or newer; default: a private one in the state folder",
  },
  "migrate-url": {
    ...{ type: "string", value: "URL", env: "GT_THREADS_MIGRATE_URL" },
    help: "a direct connection for migrate, past a pooler (the database URL)",
  },
  "state-dir": {
    ...{ type: "string", value: "DIR", env: "GT_THREADS_STATE_DIR", complete: "folder" },
    help: "keys, and the private PostgreSQL (~/.local/state/gastown-threads; root with a private PostgreSQL: /var/lib/gastown-threads)",
  },
  postgres: {
    ...{ type: "string", value: "WHICH", env: "GT_THREADS_POSTGRES", complete: ["npm", "system"] },
    help: "npm, system, or a folder with initdb and postgres; default: the first that exists",
  },
  workspace: {
    ...{ type: "string", value: "NAME", env: "GT_THREADS_WORKSPACE" },
    help: "what the local issuer may say (default)",
  },
} as const satisfies CommandFlags;

export const SERVE_FLAGS = {
  listen: {
    ...{ type: "string", value: "HOST:PORT", env: "GT_THREADS_LISTEN" },
    help: "where agents and gt threads call (127.0.0.1:9448)",
  },
  "health-listen": {
    ...{ type: "string", value: "HOST:PORT", env: "GT_THREADS_HEALTH_LISTEN" },
    help: "/livez, /readyz, /metrics (127.0.0.1:9449)",
  },
  "tls-dir": {
    ...{ type: "string", value: "DIR", env: "GT_THREADS_TLS_DIR", complete: "folder" },
    help: "TLS 1.3 by tls.crt, tls.key, ca.crt and crl.pem in it; any address but loopback needs it",
  },
  ...COMMON_FLAGS,
  runtime: {
    ...{ type: "string", value: "WHICH", env: "GT_THREADS_RUNTIME", complete: ["local", "bridge", "none"] },
    help: "where idle agents are: sidecars of this machine (local), sessions of a bridge, or nowhere (none); default: local",
  },
  bridge: {
    ...{ type: "string", value: "HOST:PORT", env: "GT_THREADS_BRIDGE" },
    help: "the bridge, or controller, of --runtime bridge; certificate and key are in threads.yaml, runtime",
  },
  "audit-log": {
    ...{ type: "string", value: "FILE", env: "GT_THREADS_AUDIT_LOG", complete: "file" },
    help: "a line for each caller that is let in or refused; default: none",
  },
  "log-level": {
    ...{ type: "string", value: "LEVEL", env: "GT_THREADS_LOG_LEVEL", complete: LOG_LEVELS },
    help: `${LOG_LEVELS.join(", ")} (info)`,
  },
} as const satisfies CommandFlags;

export const TOKEN_FLAGS = {
  agent: { type: "string", value: "A", help: "the agent's address" },
  role: { type: "string", value: "R", help: "its role (worker); operator: a person's token, 5 minutes at most" },
  session: {
    ...{ type: "string", value: "S" },
    help: "its session; default: the one of the sidecar that has this address now",
  },
  ttl: { type: "duration", value: "D", help: "how long it is valid, at most 1 hour (1h)" },
  file: {
    ...{ type: "string", value: "F", complete: "file" },
    help: "write it there (0600), and replace it at half of its life until stopped",
  },
  ...COMMON_FLAGS,
} as const satisfies CommandFlags;

export const ARCHIVE_FLAGS = {
  file: { type: "string", value: "F", complete: "file", help: "the archive; default: stdout, stdin" },
  ...COMMON_FLAGS,
} as const satisfies CommandFlags;

export const CHECK_FLAGS = {
  config: { ...COMMON_FLAGS.config, help: "threads.yaml" },
} as const satisfies CommandFlags;
