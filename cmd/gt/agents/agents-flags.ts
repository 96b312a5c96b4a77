import type { CommandFlags } from "../../../internal/cli/command/command.ts";
import { CLUSTER_FLAGS, SERVER_FLAGS, SOCKET_FLAG } from "../../../internal/terminal/places/place-flags.ts";

export const AGENTS_FLAGS = {
  quiet: { type: "boolean", short: "q", help: "addresses only, one per line" },
  json: { type: "boolean", help: "everything as JSON" },
  ...SOCKET_FLAG,
  ...CLUSTER_FLAGS,
  ...SERVER_FLAGS,
} as const satisfies CommandFlags;

export type AgentsFlags = typeof AGENTS_FLAGS;
