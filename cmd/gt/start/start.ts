import { programNames } from "../../../internal/agents/known-programs.ts";
import type { Command } from "../../../internal/cli/command/command.ts";
import { SERVER_SECTION } from "../../../internal/terminal/places/place-flags.ts";
import { START_FLAGS, type StartFlags } from "./start-flags.ts";

/** `gt start`: starts an agent through a control plane. */
export const start: Command<StartFlags> = {
  name: "start",
  flags: START_FLAGS,
  help: {
    usage: "<provider> [path]",
    summary: "start an agent through a control plane",
    text: `Starts an agent in a folder of the control plane's host, waits until it takes messages, and prints its session. The
provider is codex, claude, opencode, or another one that the control plane has. Without a path: the folder you are in. Other
commands take the session's id in place of an agent.`,
    sections: [SERVER_SECTION],
    notes: `Exit codes: 0 it takes messages, or asks something first, which a note says; with --no-wait: it starts or runs. 4 not
permitted or not reached, 5 still starting after --timeout, 6 it could not be started, has ended or a limit is reached. At 5
the session continues.`,
    examples: [
      "gt start claude /repos/shop --session r-1 --server bridge.example.com:9445",
      'gt start claude -s r-1 && gt nudge r-1 "run the tests, please" && gt peek r-1',
      "gt start codex --mode terminal --no-wait && gt status --follow",
      "gt start claude --mode terminal --bead gt-shop-ann && gt nudge gt-shop-ann hi",
      'id=$(gt start claude -q) && gt nudge "$id" "run the tests, please"',
    ],
  },
  completion: programNames,
  run: async (given, context) => (await import("./run-start.ts")).runStart(given, context),
};
