import { DomainError } from "../../internal/base/errors.ts";
import type { LogLevel } from "../../internal/base/logger.ts";
import { parseFlags } from "../../internal/cli/flags.ts";
import { nearestName } from "../../internal/cli/nearest-name.ts";
import { isName } from "../../internal/relay/nats/subjects.ts";
import { parseListenAddress } from "../../internal/rpc/port/parse-address.ts";
import { MOST_MESSAGE_BYTES } from "./schema.ts";
import { secondsMs } from "./seconds.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** How a command reaches NATS. */
export interface NatsSettings {
  readonly url: string;
  readonly streamPrefix: string;
}

/** What flags and environment say of it; the rest is in the configuration file. */
export interface NatsFlags extends Partial<NatsSettings> {
  /** As it was given. */
  readonly configFile?: string;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What flags and environment say; undefined: the file decides. Times in ms. */
export interface ServeCommand {
  readonly type: "serve" | "check";
  readonly nats: NatsFlags;
  readonly listen: Address | undefined;
  readonly portOfEnvironment: number | undefined;
  readonly healthListen: Address | undefined;
  readonly relayId: string | undefined;
  readonly pingIntervalMs: number | undefined;
  readonly pongTimeoutMs: number | undefined;
  readonly maxMessageBytes: number | undefined;
  readonly allowHosts: readonly string[];
  readonly insecurePlaintext: boolean;
  readonly logLevel: LogLevel | undefined;
  readonly crashAt: string | undefined;
}

export interface SendCommand {
  readonly type: "send";
  readonly nats: NatsFlags;
  readonly sessionId: string;
  readonly role: string;
  /** Undefined: one is made. */
  readonly id: string | undefined;
  readonly task: string;
  readonly requirements: readonly string[];
  /** The task is the result of this tool instead. */
  readonly toolId: string | undefined;
  readonly continues: boolean;
  /** Prints the results until the last one. */
  readonly wait: boolean;
  readonly timeoutMs: number;
}

export interface ResultsCommand {
  readonly type: "results";
  readonly nats: NatsFlags;
  readonly sessionId: string;
  readonly role: string | undefined;
  readonly id: string | undefined;
  readonly follow: boolean;
}

export interface DeadCommand {
  readonly type: "dead";
  readonly nats: NatsFlags;
  readonly action: "ls" | "show" | "requeue" | "drop";
  readonly sessionId: string | undefined;
  /** In the stream; 0 for `ls`. */
  readonly seq: number;
}

export interface DialCommand {
  readonly type: "dial";
  readonly server: string;
  readonly sessionId: string;
  readonly role: string;
  readonly agentId: string;
  readonly command: readonly [string, ...string[]];
  /** The whole environment, for the agent. */
  readonly env: Env;
}

export type Command =
  | { readonly type: "help" | "version" }
  | ServeCommand
  | SendCommand
  | ResultsCommand
  | DeadCommand
  | DialCommand
  | { readonly type: "status"; readonly nats: NatsFlags; readonly json: boolean };

const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error", "silent"];
const WORDS = ["serve", "check", "send", "results", "status", "dead", "dial", "help", "version"] as const;
const ACTIONS = ["ls", "show", "requeue", "drop"] as const;
const common = {
  config: { type: "string", short: "c" },
  "nats-url": { type: "string", env: "OUROCODUS_NATS_URL" },
  "stream-prefix": { type: "string" },
} as const;

const serveSpecs = {
  ...common,
  listen: { type: "string" },
  "health-listen": { type: "string" },
  "relay-id": { type: "string" },
  "ping-interval": { type: "string", env: "OUROCODUS_PING_INTERVAL" },
  "pong-timeout": { type: "string", env: "OUROCODUS_PONG_TIMEOUT" },
  "max-message-bytes": { type: "number" },
  "insecure-plaintext": { type: "boolean" },
  "allow-host": { type: "list" },
  "log-level": { type: "string" },
} as const;

const sendSpecs = {
  ...common,
  session: { type: "string" },
  role: { type: "string" },
  id: { type: "string" },
  requirement: { type: "list" },
  "tool-result": { type: "string" },
  continue: { type: "boolean" },
  wait: { type: "boolean" },
  timeout: { type: "duration" },
  follow: { type: "boolean" },
  json: { type: "boolean" },
} as const;

const dialSpecs = {
  server: { type: "string" },
  session: { type: "string" },
  role: { type: "string" },
  "agent-id": { type: "string" },
} as const;

/**
 * The command from the line and the environment.
 * @throws DomainError `invalid`, naming the flag
 */
export function readConfig(argv: readonly string[], env: Env): Command {
  const first = argv[0] ?? "";
  const word = first === "" || first.startsWith("-") ? "serve" : WORDS.find((name) => name === first);
  if (word === undefined) throw unknownCommand(first);
  if (word === "help" || word === "version") return { type: word };
  const line = word === first ? argv.slice(1) : argv;
  if (word === "serve" || word === "check") return readServe(word, line, env);
  if (word === "dial") return readDial(line, env);
  return readClient(word, line, env);
}

function readServe(type: "serve" | "check", argv: readonly string[], env: Env): Command {
  const { ask, values, positionals, rest = [] } = parseFlags(serveSpecs, argv, env);
  if (ask !== undefined) return { type: ask };
  refuseMore([...positionals, ...rest]);
  const port = env["OUROCODUS_RELAY_PORT"];
  const address = (flag: string, text: string | undefined) => (text === undefined ? undefined : addressOf(flag, text));
  const seconds = (flag: string, text: string | undefined) => (text === undefined ? undefined : secondsMs(flag, text));
  const maxMessageBytes = values["max-message-bytes"];
  if (maxMessageBytes !== undefined && (maxMessageBytes < 1024 || maxMessageBytes > MOST_MESSAGE_BYTES)) {
    throw invalid(`--max-message-bytes is from 1024 to ${MOST_MESSAGE_BYTES}, not ${maxMessageBytes}`);
  }
  return {
    type,
    nats: natsOf(values),
    listen: address("--listen", values.listen),
    portOfEnvironment: port ? addressOf("OUROCODUS_RELAY_PORT", `127.0.0.1:${port}`).port : undefined,
    healthListen: address("--health-listen", values["health-listen"]),
    relayId: values["relay-id"],
    pingIntervalMs: seconds("--ping-interval", values["ping-interval"]),
    pongTimeoutMs: seconds("--pong-timeout", values["pong-timeout"]),
    ...{ maxMessageBytes, allowHosts: values["allow-host"] ?? [] },
    insecurePlaintext: values["insecure-plaintext"] ?? false,
    logLevel: values["log-level"] === undefined ? undefined : levelOf(values["log-level"]),
    crashAt: env["GT_RELAY_CRASH_AT"] || undefined,
  };
}

function readClient(word: "send" | "results" | "status" | "dead", argv: readonly string[], env: Env): Command {
  const { ask, values, positionals, rest = [] } = parseFlags(sendSpecs, argv, env);
  if (ask !== undefined) return { type: ask };
  const words = [...positionals, ...rest];
  const nats = natsOf(values);
  const sessionId = nameOf("--session", values.session);
  const role = nameOf("--role", values.role);
  switch (word) {
    case "status":
      refuseMore(words);
      return { type: word, nats, json: values.json ?? false };
    case "dead":
      return deadOf(words, nats, sessionId);
    case "results":
      refuseMore(words);
      return {
        ...{ type: word, nats, role, id: values.id, follow: values.follow ?? false },
        sessionId: needed("--session", sessionId),
      };
    case "send":
      return {
        ...{ type: word, nats, id: values.id, task: words.join(" "), requirements: values.requirement ?? [] },
        ...{ sessionId: needed("--session", sessionId), role: needed("--role", role), toolId: values["tool-result"] },
        ...{ continues: values.continue ?? false, wait: values.wait ?? false, timeoutMs: values.timeout ?? 1_800_000 },
      };
  }
}

function readDial(argv: readonly string[], env: Env): Command {
  const { ask, values, positionals, rest = [] } = parseFlags(dialSpecs, argv, env);
  if (ask !== undefined) return { type: ask };
  refuseMore(positionals);
  const [program, ...args] = rest;
  if (program === undefined) throw invalid("the agent's command is missing", "relay dial … -- COMMAND");
  const server = needed("--server", values.server).replace(/^http/, "ws");
  if (!URL.canParse(server) || !/^wss?:$/.test(new URL(server).protocol)) {
    throw invalid(`--server is a URL such as ws://127.0.0.1:8080, not ${JSON.stringify(server)}`);
  }
  return {
    ...{ type: "dial", server: server.replace(/\/$/, ""), command: [program, ...args], env },
    sessionId: needed("--session", nameOf("--session", values.session)),
    role: needed("--role", nameOf("--role", values.role)),
    agentId: needed("--agent-id", nameOf("--agent-id", values["agent-id"])),
  };
}

function deadOf(words: readonly string[], nats: NatsFlags, sessionId: string | undefined): DeadCommand {
  const [word = "ls", number, ...more] = words;
  const action = ACTIONS.find((name) => name === word);
  if (action === undefined) throw invalid(`dead takes ${ACTIONS.join(", ")}, not ${JSON.stringify(word)}`);
  refuseMore(action === "ls" && number !== undefined ? [number] : more);
  const seq = Number(number ?? 0);
  if (action !== "ls" && !(Number.isSafeInteger(seq) && seq > 0)) throw invalid(`dead ${action} needs a number`);
  return { type: "dead", nats, action, sessionId, seq };
}

function natsOf(values: {
  readonly config?: string;
  readonly "nats-url"?: string;
  readonly "stream-prefix"?: string;
}): NatsFlags {
  const { config, "nats-url": url, "stream-prefix": prefix } = values;
  if (prefix !== undefined && !isName(prefix)) throw invalid("--stream-prefix has letters, digits, _ and -");
  return {
    ...(config !== undefined && { configFile: config }),
    ...(url !== undefined && { url }),
    ...(prefix !== undefined && { streamPrefix: prefix }),
  };
}

function addressOf(flag: string, text: string): Address {
  const address = parseListenAddress(text);
  if (address === undefined) throw invalid(`${flag} must be HOST:PORT, not ${JSON.stringify(text)}`);
  return address;
}

function nameOf(flag: string, name: string | undefined): string | undefined {
  if (name === undefined || isName(name)) return name;
  throw invalid(`${flag} has up to 64 letters, digits, _ and -, not ${JSON.stringify(name)}`);
}

function needed(flag: string, name: string | undefined): string {
  if (name === undefined) throw invalid(`${flag} is missing`);
  return name;
}

function refuseMore([word]: readonly string[]): void {
  if (word !== undefined) throw invalid(`unexpected argument ${JSON.stringify(word)}`);
}

function levelOf(word: string): LogLevel {
  const level = LEVELS.find((known) => known === word);
  if (level === undefined) throw invalid(`--log-level takes ${LEVELS.join(", ")}, not ${JSON.stringify(word)}`);
  return level;
}

function unknownCommand(word: string): DomainError {
  const near = nearestName(word, WORDS);
  return near === undefined
    ? invalid(`unknown command ${JSON.stringify(word)}`)
    : invalid(`unknown command ${JSON.stringify(word)}`, `did you mean ${near}?`);
}

function invalid(message: string, hint = "relay --help shows the commands and flags"): DomainError {
  return new DomainError("invalid", message, { fields: { hint } });
}
