import type { Command } from "../../../internal/cli/command/command.ts";
import { PLACE_SECTION } from "../../../internal/terminal/places/place-flags.ts";
import { PEEK_FLAGS, type PeekFlags } from "./peek-flags.ts";

/** `gt peek`: prints the last lines of an agent's terminal. */
export const peek: Command<PeekFlags> = {
  name: "peek",
  flags: PEEK_FLAGS,
  help: {
    usage: "<agent> [count]",
    summary: "show the last lines of its terminal",
    text: "Shows the last lines of an agent's terminal, exactly as many as asked for.",
    sections: [PLACE_SECTION],
    examples: [
      "gt peek gastown/toast",
      "gt peek gastown/toast 5",
      "gt peek gastown/crew/max --all > max.log",
      "gt peek mayor --follow",
      "gt peek gastown/toast --context prod",
      "gt peek demo --json | jq -r .output",
    ],
  },
  completion: "agent",
  run: async (given, context) => (await import("./run-peek.ts")).runPeek(given, context),
};
