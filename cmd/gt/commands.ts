import type { Program } from "../../internal/cli/command/command.ts";

const ADDRESSES = `An agent is rig/name, rig/polecats/name, rig/crew/name, rig/witness, rig/refinery, mayor, deacon, boot, or a
name alone where that is enough.`;

const EXIT_CODES = `Exit codes: 0 done, 2 usage, 3 no such agent, 4 unreachable or not trusted, 5 queued and not yet delivered,
or not reached in time, 6 refused, 7 delivered without proof, 1 a bug or an output that cannot be written.`;

/** The program `gt`: every command in the order of its help. */
export const gt: Program = {
  name: "gt",
  help: {
    summary: "look at coding agents and talk to them",
    text: "gt looks at coding agents and talks to them, near or far.",
    notes: `${ADDRESSES}\n\n${EXIT_CODES}`,
    examples: [
      "gt peek gastown/toast 20",
      'gt nudge gastown/toast "run the tests again, please"',
      "gt status",
      "gt watch mayor --host 10.0.3.7 --port 9090 --tls-dir ~/.gt/tls",
    ],
  },
  lists: { agent: "gt agents --quiet" },
  commands: {
    peek: async () => (await import("./peek/peek.ts")).peek,
    nudge: async () => (await import("./nudge/nudge.ts")).nudge,
    receipt: async () => (await import("./receipt/receipt.ts")).receipt,
    cancel: async () => (await import("./cancel/cancel.ts")).cancel,
    respond: async () => (await import("./respond/respond.ts")).respond,
    status: async () => (await import("./status/status.ts")).status,
    wait: async () => (await import("./wait/wait.ts")).wait,
    watch: async () => (await import("./watch/watch.ts")).watch,
    attach: async () => (await import("./attach/attach.ts")).attach,
    keys: async () => (await import("./keys/keys.ts")).keys,
    start: async () => (await import("./start/start.ts")).start,
    stop: async () => (await import("./stop/stop.ts")).stop,
    token: async () => (await import("./token/token.ts")).token,
    agents: async () => (await import("./agents/agents.ts")).agents,
    threads: async () => (await import("./threads/threads.ts")).threads,
    config: async () => (await import("./config/config.ts")).config,
  },
};
