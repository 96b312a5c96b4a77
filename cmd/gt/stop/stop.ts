import type { Command } from "../../../internal/cli/command/command.ts";
import { PLACE_SECTION } from "../../../internal/terminal/places/place-flags.ts";
import { STOP_FLAGS, type StopFlags } from "./stop-flags.ts";

/** `gt stop`: ends an agent permanently. */
export const stop: Command<StopFlags> = {
  name: "stop",
  flags: STOP_FLAGS,
  help: {
    usage: "<agent>",
    summary: "end the agent permanently",
    text: `Ends an agent permanently and prints how it ended: the agent is asked to leave in its own way, then terminated, then
killed. It is not restarted. Waits until it has ended. Needs a sidecar.`,
    sections: [PLACE_SECTION],
    notes: "Exit codes: 0 it has ended (even if it had ended before), 4 its end was not seen.",
    examples: ["gt stop gastown/toast", "gt stop gastown/toast --grace 1m", "gt stop mayor --force --json"],
  },
  completion: "agent",
  run: async (given, context) => (await import("./run-stop.ts")).runStop(given, context),
};
