import type { Command, CommandNode, Program } from "../../internal/cli/command/command.ts";
import { unknownCommand } from "../../internal/cli/command/unknown-word.ts";
import { reportConfig } from "../../internal/config/report-config.ts";
import { type DeadCommand, readDead, readDial, readResults, readSend, readServe, readStatus } from "./config.ts";
import { readAcp } from "./editors/acp-config.ts";
import {
  ACP_FLAGS,
  DEAD_FLAGS,
  DIAL_FLAGS,
  NATS_SERVER_FLAGS,
  NATS_USER_FLAGS,
  RESULTS_FLAGS,
  SEND_FLAGS,
  SERVE_FLAGS,
  STATUS_FLAGS,
  TOKEN_FLAGS,
} from "./flags/flags.ts";
import { readNatsUser, readServerConfig } from "./nats-config.ts";
import { readTokenConfig } from "./token-config.ts";

const EXIT_CODES = `Exit codes: 0 done, or drained; 1 a bug, or an address in use; 2 usage or configuration; 3 no such session or
message; 4 NATS or the relay is not reachable, or refuses this program; 6 a stream has other settings; 7 turns were handed
back at the drain's deadline.`;

const serve: Command<typeof SERVE_FLAGS> = {
  name: "serve",
  flags: SERVE_FLAGS,
  help: {
    usage: "",
    summary: "serve agents that dial in by WebSocket",
    text: `Serves agents at ws://HOST:8080/acp/{session_id}/{role}?agent_id=… until SIGTERM. With --tls-dir it serves TLS 1.3,
and an agent needs a certificate; with auth in relay.yaml a token too (relay token).`,
    notes: EXIT_CODES,
    examples: ["relay serve --nats-url nats://127.0.0.1:4222"],
  },
  completion: [],
  run: async (given, context) => {
    const command = readServe("relay serve", given, context.env);
    return await (await import("./serve.ts")).serve(command, context);
  },
};

const check: Command<typeof SERVE_FLAGS> = {
  ...serve,
  name: "check",
  help: {
    usage: "",
    summary: "report errors in flags, environment and file, by line",
    text: "Reports every error in flags, environment and file, by line.",
    examples: ["relay check --config relay.yaml"],
  },
  run: async (given, { clock, env, out, err }) => {
    const command = readServe("relay check", given, env);
    const { settings, findings } = (await import("./settings.ts")).openSettings(command);
    await (await import("./check-trust.ts")).checkTrust(settings.trust, findings, clock.now());
    reportConfig(findings, out, err);
    return 0;
  },
};

const send: Command<typeof SEND_FLAGS> = {
  name: "send",
  flags: SEND_FLAGS,
  help: {
    usage: "--session S --role R TASK",
    summary: "publish work; --wait prints its results until the last one",
    text: "Publishes work for a role of a session. It is stored once, however often it is sent under the same id.",
    notes: EXIT_CODES,
    examples: [
      'relay send --session sess_123 --role coding --wait "Implement authentication"',
      'relay send --session sess_123 --role coding "Log in" --requirement "use JWT"',
    ],
  },
  completion: [],
  run: async (given, context) => (await import("./send.ts")).send(readSend(given), context),
};

const results: Command<typeof RESULTS_FLAGS> = {
  name: "results",
  flags: RESULTS_FLAGS,
  help: {
    usage: "--session S",
    summary: "print results as JSON lines",
    text: "Prints the results of a session, one JSON line each.",
    notes: EXIT_CODES,
    examples: ["relay results --session sess_123 --follow"],
  },
  completion: [],
  run: async (given, context) => (await import("./results.ts")).results(readResults(given), context),
};

const status: Command<typeof STATUS_FLAGS> = {
  name: "status",
  flags: STATUS_FLAGS,
  help: {
    usage: "",
    summary: "ask every relay for its connections",
    text: "Asks every relay on this NATS for its connections and open turns.",
    notes: EXIT_CODES,
    examples: ["relay status --json"],
  },
  completion: [],
  run: async (given, context) => (await import("./status.ts")).status(readStatus(given), context),
};

const token: Command<typeof TOKEN_FLAGS> = {
  name: "token",
  flags: TOKEN_FLAGS,
  help: {
    usage: "--session S --role R --agent-id A …",
    summary: "print a token by which an agent dials in, or keep a file with one",
    text: `Prints a token for one agent of one session, for a relay with auth in relay.yaml. It is valid over a certificate of its
issuer only, and for 5 minutes at most. With --file it keeps a file with a valid one, for relay dial --token-file.`,
    notes: EXIT_CODES,
    examples: [
      `relay token --session s --role r --agent-id a \\
    --jwt-key town.key --jwt-issuer town --project shop --file token`,
    ],
  },
  completion: [],
  run: async (given, context) => (await import("./token.ts")).token(readTokenConfig(given), context),
};

const dial: Command<typeof DIAL_FLAGS> = {
  name: "dial",
  flags: DIAL_FLAGS,
  help: {
    usage: "--server URL … -- COMMAND",
    summary: "run an ACP agent that speaks stdio and connect it to a relay",
    text: `Runs an ACP agent that speaks stdio and connects it to a relay, again whenever that ends. Exits with 4 if no relay
answers within the first 30 seconds, or if it refuses the token.`,
    notes: EXIT_CODES,
    examples: [
      "relay dial --server ws://relay:8080 --session s --role r --agent-id a -- agent",
      `relay dial --server wss://relay:8080 --tls-dir tls --token-file token \\
    --session s --role r --agent-id a -- agent`,
    ],
  },
  completion: [],
  run: async (given, context) => (await import("./dial.ts")).dial(readDial(given, context.env), context),
};

const acp: Command<typeof ACP_FLAGS> = {
  name: "acp",
  flags: ACP_FLAGS,
  help: {
    usage: "--server URL --role R",
    summary: "be an ACP agent over stdio whose prompts are work of a role",
    text: `Speaks the Agent Client Protocol on stdin and stdout, for editors, and carries it to a relay's front door: a prompt
is work of the role, which its agent does once.`,
    notes: EXIT_CODES,
    examples: ["relay acp --server ws://127.0.0.1:8080 --session sess_123 --role coding"],
  },
  completion: [],
  run: async (given, context) => (await import("./editors/acp.ts")).acp(readAcp(given), context),
};

function deadCommand(name: DeadCommand["action"], usage: string, summary: string): Command<typeof DEAD_FLAGS> {
  return {
    name,
    flags: DEAD_FLAGS,
    help: {
      usage,
      summary,
      text: `${summary.slice(0, 1).toUpperCase()}${summary.slice(1)}.`,
      notes: EXIT_CODES,
      examples: [`relay dead ${name}${usage === "" ? "" : " 17"}`],
    },
    completion: [],
    run: async (given, context) => (await import("./dead.ts")).dead(readDead(name, given), context),
  };
}

const dead: CommandNode = {
  ...deadCommand("ls", "", "the same as relay dead ls"),
  name: "dead",
  help: {
    usage: "",
    summary: "show work that was rejected, give it back to its lane or drop it",
    text: "Shows work that was rejected, gives it back to its lane or drops it. Without a command it lists.",
    notes: EXIT_CODES,
    examples: ["relay dead", "relay dead show 17", "relay dead requeue 17"],
  },
  commands: {
    ls: async () => deadCommand("ls", "", "list the dead letters"),
    show: async () => deadCommand("show", "N", "print one"),
    requeue: async () => deadCommand("requeue", "N", "give one back to its lane"),
    drop: async () => deadCommand("drop", "N", "delete one"),
  },
};

const natsServerConfig: Command<typeof NATS_SERVER_FLAGS> = {
  name: "server-config",
  flags: NATS_SERVER_FLAGS,
  help: {
    usage: "--nkey FILE",
    summary: "print a first configuration of nats-server",
    text: `Prints a first configuration of nats-server. Its one user is the relay, with an nkey, who may do what a relay and
its commands do.`,
    notes: EXIT_CODES,
    examples: ["relay nats server-config --nkey relay.nk > nats.conf"],
  },
  completion: [],
  run: async (given, { out }) => (await import("./nats-users.ts")).printServerConfig(readServerConfig(given), out),
};

const natsUserCommand: Command<typeof NATS_USER_FLAGS> = {
  name: "user",
  flags: NATS_USER_FLAGS,
  help: {
    usage: "--session S --can LIST --nkey FILE",
    summary: "print a user of nats-server who reaches one session",
    text: `Prints an entry for the users of nats-server's configuration: a user with an nkey who may do these things in one
session, and reaches nothing of another. submit: give work, and control it. read: results, progress and events. approve:
answer permissions.`,
    notes: EXIT_CODES,
    examples: ["relay nats user --session sess_123 --can submit,read,approve --nkey s.nk"],
  },
  completion: [],
  run: async (given, { out }) => (await import("./nats-users.ts")).natsUser(readNatsUser(given), out),
};

const nats: CommandNode = {
  name: "nats",
  help: {
    usage: "COMMAND",
    summary: "print what nats-server needs to know of a relay and of sessions",
    text: "Prints what nats-server needs to know of a relay and of sessions: users and what they may do.",
    examples: ["relay nats server-config --nkey relay.nk > nats.conf"],
  },
  commands: {
    "server-config": async () => natsServerConfig,
    user: async () => natsUserCommand,
  },
};

/** The program `relay`, which serves if it is called without a command. */
export const relay: Program = {
  ...serve,
  name: "relay",
  help: {
    ...serve.help,
    summary: "the same as relay serve",
    text: "Carries work between sessions over NATS: a message becomes a turn of an agent, its answer becomes messages.",
    examples: [
      "relay --nats-url nats://127.0.0.1:4222",
      'relay send --session sess_123 --role coding --wait "Implement authentication"',
      "relay results --session sess_123 --follow",
    ],
  },
  commands: {
    serve: async () => serve,
    check: async () => check,
    send: async () => send,
    results: async () => results,
    status: async () => status,
    dial: async () => dial,
    acp: async () => acp,
    token: async () => token,
    nats: async () => nats,
    dead: async () => dead,
  },
  run: async (given, context) => {
    const [word] = given.positionals;
    if (word !== undefined) throw unknownCommand("relay", word, []);
    return await serve.run(given, context);
  },
};
