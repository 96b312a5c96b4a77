import { DomainError } from "../../internal/base/errors.ts";
import { parseFlags } from "../../internal/cli/flags.ts";

export const START_HELP = `Starts an agent in a sidecar on this machine and shows it live, with the commands to talk to it.

Usage: npm start [-- flags]

  --agent demo     the demo agent: answers like a coding agent and does nothing (default)
  --agent claude   your own Claude Code, in the current folder; receives only what you send it
  --bridge         a bridge instead: sessions of the demo agent for control planes, behind mutual TLS and tokens
  --relay          a nats-server, a relay and an agent that dials in, and one coding task through them
  --threads        threads instead: two demo agents that review and fix by script, woken when a message waits
  --once           prints one peek, nudge, peek and status with the demo agent; needs no terminal;
                   with --bridge one session, its events and a receipt; with --relay the coding task;
                   with --threads one conversation and its wakes
  --help, --version

Examples:
  npm start
  npm start -- --agent claude
  npm start -- --once
  npm start -- --bridge
  npm start -- --relay
  npm start -- --threads
`;

export type AgentName = "demo" | "claude";

export interface StartConfig {
  readonly ask?: "help" | "version";
  readonly agent: AgentName;
  readonly once: boolean;
  readonly bridge: boolean;
  readonly relay: boolean;
  readonly threads: boolean;
  /** The folder in which the person typed the command; npm itself changes to the clone. */
  readonly workdir: string | undefined;
}

const specs = {
  agent: { type: "string" },
  once: { type: "boolean" },
  bridge: { type: "boolean" },
  relay: { type: "boolean" },
  threads: { type: "boolean" },
} as const;

/** @throws DomainError `invalid`. */
export function readStartConfig(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): StartConfig {
  const { ask, values, positionals } = parseFlags(specs, argv, env);
  if (positionals[0] !== undefined) throw new DomainError("invalid", `unexpected argument "${positionals[0]}"`);
  const { agent = "demo", once = false, bridge = false, relay = false, threads = false } = values;
  if (agent !== "demo" && agent !== "claude") {
    throw new DomainError("invalid", `--agent is demo or claude, not "${agent}"`);
  }
  if (once && agent !== "demo") {
    const hint = "it sends a message by itself, and only the demo agent may get such a message";
    throw new DomainError("invalid", "--once works with the demo agent only", { fields: { hint } });
  }
  if (bridge && agent !== "demo") throw new DomainError("invalid", "--bridge works with the demo agent only");
  if (relay && agent !== "demo") throw new DomainError("invalid", "--relay works with its own agent only");
  if (relay && bridge)
    throw new DomainError("invalid", "--relay and --bridge cannot be combined: start one after the other");
  if (threads && (relay || bridge || agent !== "demo"))
    throw new DomainError("invalid", "--threads works with its own demo agents only, without --relay or --bridge");
  const config = { agent, once, bridge, relay, threads, workdir: env["INIT_CWD"] || undefined } as const;
  return ask === undefined ? config : { ...config, ask };
}
