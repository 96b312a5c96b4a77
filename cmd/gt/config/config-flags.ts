import type { CommandFlags } from "../../../internal/cli/command/command.ts";

export const CONFIG_FLAGS = {
  profile: {
    type: "string",
    env: "GT_PROFILE",
    value: "NAME",
    help: "another profile than the current one",
  },
  json: { type: "boolean", help: "the profiles as JSON" },
} as const satisfies CommandFlags;

export type ConfigFlags = typeof CONFIG_FLAGS;
