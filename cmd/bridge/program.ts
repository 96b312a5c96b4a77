import type { Command, CommandFlags, Program } from "../../internal/cli/command/command.ts";
import { readConfig } from "./config.ts";

const CONFIG_FLAG = {
  config: {
    type: "string",
    short: "c",
    env: "GT_BRIDGE_CONFIG",
    value: "FILE",
    help: "the configuration",
    complete: "file",
  },
} as const satisfies CommandFlags;

const STATE_DIR_FLAG = {
  "state-dir": {
    type: "string",
    env: "GT_BRIDGE_STATE_DIR",
    value: "DIR",
    help: "the folder for state that survives a restart, such as running terminal sessions. Default: server.state_dir in FILE, otherwise a folder in ~/.local/state/gastown-bridge, one for each FILE",
    complete: "folder",
  },
} as const satisfies CommandFlags;

const FLAGS = { ...CONFIG_FLAG, ...STATE_DIR_FLAG } as const;

const CONFIGURATION = `A configuration for two consumers; bridge-ca creates the files in certs/ (docs/bridge.md):

  server:
    listen: "0.0.0.0:9445"        # default 127.0.0.1:9445
  tls:
    ca_bundle: "certs/ca-bundle.crt"
    cert: "certs/bridge.crt"
    key: "certs/bridge.key"
  auth:
    jwt_public_keys:
      - issuer: "prd-manager"
        key_path: "certs/prd-manager-jwt.pub"
        projects: ["prd-manager"] # without it: any project at all
      - issuer: "ndara-orchestrator"
        key_path: "certs/ndara-jwt.pub"
        projects: ["ndara"]
  providers:
    claude:
      binary: "claude"
    demo: {}                      # needs no account
  allowed_paths:
    - "/home/*/repos"             # * matches one component

Paths are relative to the folder of the configuration. The files that it names are watched: a replaced certificate, CA,
revocation list or token key takes effect at once. The configuration itself is read only at start.`;

const check: Command<typeof FLAGS> = {
  name: "check",
  flags: FLAGS,
  help: {
    usage: "--config FILE",
    summary: "report errors in FILE and in the files that it names, by line",
    text: "Reports every error in a configuration and in the files that it names, by line.",
    notes: "Exit codes: 0 a bridge can start with it, 2 it cannot.",
    examples: ["bridge check --config /etc/gastown-bridge/bridge.yaml"],
  },
  completion: [],
  run: async (given, context) => {
    const config = readConfig("bridge check", given, context.env);
    return await (await import("./check.ts")).check(config, context);
  },
};

const serve: Command<typeof FLAGS> = {
  name: "bridge",
  flags: FLAGS,
  help: {
    usage: "--config FILE",
    summary: "serve according to FILE, until SIGTERM",
    text: `Runs coding agents on this host as sessions, for control planes that call it over mutual TLS, with a token in every
call.`,
    notes: `${CONFIGURATION}

Exit codes: 0 stopped by a signal; 1 the address or the state folder is in use, or a bug; 2 the command line or the
configuration is wrong.`,
    examples: [
      "bridge check --config /etc/gastown-bridge/bridge.yaml",
      "bridge --config /etc/gastown-bridge/bridge.yaml",
      "GT_BRIDGE_CONFIG=bridge.yaml bridge",
    ],
  },
  completion: [],
  commands: { check: async () => check },
  run: async (given, context) => {
    const config = readConfig("bridge", given, context.env);
    return await (await import("./run.ts")).run(config, context);
  },
};

/** The program `bridge`, which serves, and checks configurations. */
export const bridge: Program = serve;
