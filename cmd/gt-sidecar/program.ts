import type { Command, Program } from "../../internal/cli/command/command.ts";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { SIDECAR_FLAGS, SIDECAR_SECTIONS } from "./flags.ts";

const NOTES = `The agent's command goes after --, or in GT_AGENT_COMMAND, and is run without a shell.

Times: 300ms, 1.5s, 10m. Exit code: the agent's (128+n for a signal); 2 for bad flags, 1 when a port or the state folder
cannot be used, 127 when the agent's program is missing.`;

/** Runs gt-sidecar with these arguments, which begin with the name of a half if only that half runs. */
type Start = (argv: readonly string[], context: CommandContext) => Promise<number>;

/** The program `gt-sidecar`, both halves or one of them. */
export function gtSidecar(start: Start): Program {
  const halves: Command<typeof SIDECAR_FLAGS> = {
    name: "gt-sidecar",
    flags: SIDECAR_FLAGS,
    help: {
      usage: "[flags] [-- command args…]",
      summary: "run the agent and serve it",
      text: "Runs a coding agent in tmux and serves its terminal: its screen, its state, and messages with receipts.",
      sections: SIDECAR_SECTIONS,
      notes: NOTES,
      examples: [
        "gt-sidecar --agent demo  # the demo agent: needs no account, does no work",
        "gt-sidecar  # Claude Code in this folder, served on 127.0.0.1:9090",
        "gt-sidecar --agent codex --workdir ~/src/shop",
        "gt-sidecar --agent generic -- python3 -i  # any program with a prompt",
        "gt-sidecar --listen unix:$HOME/.gt/agent.sock  # for this user only; ~/.gt must exist with mode 0700",
        "gt-sidecar --listen 0.0.0.0:9090 --tls-dir /etc/gt/tls",
        `gt-sidecar --listen 0.0.0.0:9090 --tls-dir /etc/gt/tls \\
    --jwt-key shop=/etc/gt/shop.pub --crl-policy require`,
      ],
    },
    completion: [],
    commands: { supervise: async () => supervise, serve: async () => serve },
    run: (_, context) => start(context.argv, context),
  };
  const supervise = half("supervise", "run only the agent; the serving half runs elsewhere", start);
  const serve = half("serve", "serve an agent that runs with the same --state-dir", start);
  return halves;
}

function half(name: string, summary: string, start: Start): Command<typeof SIDECAR_FLAGS> {
  return {
    name,
    flags: SIDECAR_FLAGS,
    help: {
      usage: "[flags] [-- command args…]",
      summary,
      text: `One half of gt-sidecar: ${summary}.`,
      sections: SIDECAR_SECTIONS,
      notes: NOTES,
      examples: [`gt-sidecar ${name} --agent claude --state-dir /run/gt`],
    },
    completion: [],
    run: (_, context) => start([name, ...context.argv], context),
  };
}
