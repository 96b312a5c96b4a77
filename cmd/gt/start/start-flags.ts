import type { CommandFlags } from "../../../internal/cli/command/command.ts";
import { SERVER_FLAGS } from "../../../internal/terminal/places/place-flags.ts";

export const START_FLAGS = {
  ...SERVER_FLAGS,
  session: {
    type: "string",
    short: "s",
    value: "ID",
    help: "the session's id (a new UUID); the same id and parameters start nothing twice",
  },
  mode: {
    type: "string",
    value: "MODE",
    help: "stdio, or terminal: the agent in a terminal of its own, for peek, watch and attach (stdio where it has that)",
    complete: ["stdio", "terminal"],
  },
  opt: { type: "list", short: "o", value: "KEY=VALUE", help: "an option of the provider; may be repeated" },
  bead: {
    type: "string",
    value: "ID",
    help: "write into this bead where the session is, by bd; gt stop ID takes it out again",
  },
  "no-wait": { type: "boolean", help: "return once it is started; without it, once it takes messages" },
  timeout: { type: "duration", value: "TIME", help: "how long to wait for that (10m, at most 24h)" },
  quiet: { type: "boolean", short: "q", help: "print the session's id only" },
  json: { type: "boolean", help: "the session as JSON" },
} as const satisfies CommandFlags;

export type StartFlags = typeof START_FLAGS;
