import type { Command } from "../../../internal/cli/command/command.ts";
import { PLACE_SECTION } from "../../../internal/terminal/places/place-flags.ts";
import { STATUS_FLAGS, type StatusFlags } from "./status-flags.ts";

/** `gt status`: the state of one agent, or an overview of all that are found from here. */
export const status: Command<StatusFlags> = {
  name: "status",
  flags: STATUS_FLAGS,
  help: {
    usage: "[agent]",
    summary: "what it does, and from what that is known",
    text: `Shows what an agent does, since when, and the evidence for it. Without an agent: one line for each that is found from
here, or for each session of the control plane; --follow then shows what changes until it is stopped.`,
    sections: [PLACE_SECTION],
    examples: [
      "gt status",
      "gt status gastown/toast",
      `gt status --json | jq -r '.[] | select(.state == "dialog") | .agent'`,
      "gt status --host 127.0.0.1 --port 9090",
      "gt status --follow --server bridge.example.com:9445",
    ],
  },
  completion: "agent",
  run: async (given, context) => (await import("./run-status.ts")).runStatus(given, context),
};
