import type { Command } from "../../../internal/cli/command/command.ts";
import { PLACE_SECTION } from "../../../internal/terminal/places/place-flags.ts";
import { WAIT_FLAGS, type WaitFlags } from "./wait-flags.ts";

/** `gt wait`: waits until an agent is idle, done, asking, or dead. */
export const wait: Command<WaitFlags> = {
  name: "wait",
  flags: WAIT_FLAGS,
  help: {
    usage: "<agent> --for idle|done|dialog|dead",
    summary: "until it is idle, done, asking or dead",
    text: "Waits until the agent is in a state. When it is in that state already, this returns at once. Nothing is typed.",
    sections: [PLACE_SECTION],
    notes: `Exit codes: 0 reached, 5 not within --timeout, 3 no such agent, 4 it cannot be reached or is not trusted, even if
that began while waiting and lasted for 10 s.`,
    examples: [
      "gt wait gastown/toast --for idle",
      `gt nudge mayor "build it" && gt wait mayor --for done && gt peek mayor`,
      "gt wait mayor --for dialog --json | jq -r .state",
    ],
  },
  completion: "agent",
  run: async (given, context) => (await import("./run-wait.ts")).runWait(given, context),
};
