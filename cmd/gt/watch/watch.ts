import type { Command } from "../../../internal/cli/command/command.ts";
import { PLACE_SECTION } from "../../../internal/terminal/places/place-flags.ts";
import { WATCH_FLAGS, type WatchFlags } from "./watch-flags.ts";

/** `gt watch`: shows an agent's terminal as it changes. */
export const watch: Command<WatchFlags> = {
  name: "watch",
  flags: WATCH_FLAGS,
  help: {
    usage: "<agent>",
    summary: "its terminal as it changes",
    text: `Shows an agent's terminal as it changes. On a terminal it is redrawn in place, with the agent's state above it; elsewhere
new lines are printed as they come. Ctrl-C leaves.`,
    sections: [PLACE_SECTION],
    examples: ["gt watch gastown/toast", "gt watch mayor --ansi --lines 30", "gt watch demo --json | jq -r .output"],
  },
  completion: "agent",
  run: async (given, context) => (await import("./run-watch.ts")).runWatch(given, context),
};
