import type { FlagSpecs } from "../../internal/cli/flags.ts";

/** Flags of every command that reaches an agent. Their environment is read in config.ts: a flag for one place outdoes a variable for another. */
export const PLACE_FLAGS = {
  host: { type: "string" },
  port: { type: "number" },
  socket: { type: "string" },
  server: { type: "string" },
  ca: { type: "string" },
  cert: { type: "string" },
  key: { type: "string" },
  "tls-dir": { type: "string", env: "GT_TLS_DIR" },
  "agent-profile": { type: "string" },
} as const satisfies FlagSpecs;

export const COMMAND_FLAGS = {
  peek: {
    ...PLACE_FLAGS,
    lines: { type: "number", short: "n" },
    all: { type: "boolean" },
    ansi: { type: "boolean" },
    join: { type: "boolean" },
    json: { type: "boolean" },
    follow: { type: "boolean", short: "f" },
  },
  nudge: {
    ...PLACE_FLAGS,
    message: { type: "string", short: "m" },
    stdin: { type: "boolean" },
    force: { type: "boolean", short: "f" },
    "if-fresh": { type: "boolean" },
    mode: { type: "string" },
    priority: { type: "string" },
    json: { type: "boolean" },
    timeout: { type: "duration" },
    "request-id": { type: "string" },
  },
  respond: {
    ...PLACE_FLAGS,
    text: { type: "string" },
    "dialog-id": { type: "string" },
    "request-id": { type: "string" },
    json: { type: "boolean" },
  },
  status: { ...PLACE_FLAGS, json: { type: "boolean" } },
  watch: {
    ...PLACE_FLAGS,
    lines: { type: "number", short: "n" },
    ansi: { type: "boolean" },
    interval: { type: "duration" },
    json: { type: "boolean" },
  },
  attach: { ...PLACE_FLAGS, "read-only": { type: "boolean", short: "r" }, "detach-keys": { type: "string" } },
  agents: { ...PLACE_FLAGS, json: { type: "boolean" }, quiet: { type: "boolean", short: "q" } },
  completion: {},
  help: {},
} as const satisfies Readonly<Record<string, FlagSpecs>>;

export type CommandName = keyof typeof COMMAND_FLAGS;

export const COMMANDS = Object.keys(COMMAND_FLAGS) as readonly CommandName[];
