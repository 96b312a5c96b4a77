import type { Command } from "../../../internal/cli/command/command.ts";
import { SERVER_SECTION } from "../../../internal/terminal/places/place-flags.ts";
import { AGENTS_FLAGS, type AgentsFlags } from "./agents-flags.ts";

/** `gt agents`: lists the agents that are found without an address. */
export const agents: Command<AgentsFlags> = {
  name: "agents",
  flags: AGENTS_FLAGS,
  help: {
    usage: "",
    summary: "the agents that are found from here",
    text: `Lists the agents that are found from here without saying where: local tmux sessions with upstream's names, and the
sidecars of this machine; when there are none, a note names the other tmux sessions. Connects to nothing. With a control plane: the sessions that it has. With a context of a
kubeconfig: the pods of its cluster, with the state that the cluster sees.`,
    sections: [SERVER_SECTION],
    examples: [
      "gt agents",
      "gt agents --quiet | xargs -n 1 gt peek -n 3",
      "gt agents --socket work",
      "gt agents --server bridge.example.com:9445",
      "gt agents --context prod --namespace gastown-agents",
    ],
  },
  completion: [],
  run: async (given, context) => (await import("./run-agents.ts")).runAgents(given, context),
};
