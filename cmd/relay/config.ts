import { DomainError } from "../../internal/base/errors.ts";
import type { LogLevel } from "../../internal/base/logger.ts";
import { isLoopbackAddress } from "../../internal/base/loopback.ts";
import { parseFlags } from "../../internal/cli/flags.ts";
import { nearestName } from "../../internal/cli/nearest-name.ts";
import { isName } from "../../internal/relay/nats/subjects.ts";
import { parseListenAddress } from "../../internal/rpc/port/parse-address.ts";
import { secondsMs } from "./seconds.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** How a command reaches NATS. */
export interface NatsSettings {
  readonly url: string;
  readonly streamPrefix: string;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

export interface ServeCommand {
  readonly type: "serve" | "check";
  readonly nats: NatsSettings & { readonly replicas: number; readonly outboxBytes: number };
  readonly listen: Address;
  readonly healthListen: Address;
  readonly relayId: string;
  readonly pingIntervalMs: number;
  readonly pongTimeoutMs: number;
  readonly maxMessageBytes: number;
  readonly allowHosts: readonly string[];
  readonly logLevel: LogLevel;
  readonly turns: TurnSettings;
  /** For tests: the point of a turn at which the process ends itself, as `kill -9` would. */
  readonly crashAt: string | undefined;
}

/** Times in ms. */
interface TurnSettings {
  readonly deadlineMs: number;
  readonly idleMs: number;
  readonly ackWaitMs: number;
  readonly maxAttempts: number;
  readonly backoffMs: readonly number[];
  readonly drainTimeoutMs: number;
}

export interface SendCommand {
  readonly type: "send";
  readonly nats: NatsSettings;
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
  readonly nats: NatsSettings;
  readonly sessionId: string;
  readonly role: string | undefined;
  readonly id: string | undefined;
  readonly follow: boolean;
}

export interface DeadCommand {
  readonly type: "dead";
  readonly nats: NatsSettings;
  readonly action: "ls" | "show" | "requeue" | "drop";
  readonly sessionId: string | undefined;
  /** In the stream; 0 for `ls`. */
  readonly seq: number;
}

export type Command =
  | { readonly type: "help" | "version" }
  | ServeCommand
  | SendCommand
  | ResultsCommand
  | DeadCommand
  | { readonly type: "status"; readonly nats: NatsSettings; readonly json: boolean };

const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error", "silent"];
const WORDS = ["serve", "check", "send", "results", "status", "dead", "help", "version"] as const;
const ACTIONS = ["ls", "show", "requeue", "drop"] as const;
const MIB = 1024 * 1024;
/** Under the server's own bound, with room for an envelope. */
const MOST_BYTES = MIB - 64 * 1024;

const common = {
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
  return readClient(word, line, env);
}

function readServe(type: "serve" | "check", argv: readonly string[], env: Env): Command {
  const { ask, values, positionals, rest = [] } = parseFlags(serveSpecs, argv, env);
  if (ask !== undefined) return { type: ask };
  refuseMore([...positionals, ...rest]);
  const port = env["OUROCODUS_RELAY_PORT"];
  const listen = addressOf("--listen", values.listen ?? (port ? `127.0.0.1:${port}` : "127.0.0.1:8080"));
  if (!isLoopbackAddress(listen.host) && listen.host !== "localhost" && values["insecure-plaintext"] !== true) {
    throw invalid(`--listen ${listen.host} is no loopback address`, "--insecure-plaintext serves it without TLS");
  }
  const maxMessageBytes = values["max-message-bytes"] ?? 512 * 1024;
  if (maxMessageBytes < 1024 || maxMessageBytes > MOST_BYTES) {
    throw invalid(`--max-message-bytes is from 1024 to ${MOST_BYTES}, not ${maxMessageBytes}`);
  }
  return {
    type,
    nats: { ...natsOf(values), replicas: 1, outboxBytes: 64 * MIB },
    ...{ listen, maxMessageBytes, allowHosts: values["allow-host"] ?? [] },
    healthListen: addressOf("--health-listen", values["health-listen"] ?? "127.0.0.1:8081"),
    relayId: values["relay-id"] ?? "relay_main",
    pingIntervalMs: secondsMs("--ping-interval", values["ping-interval"] ?? "30"),
    pongTimeoutMs: secondsMs("--pong-timeout", values["pong-timeout"] ?? "10"),
    logLevel: levelOf(values["log-level"] ?? "info"),
    turns: {
      ...{ deadlineMs: 30 * 60_000, idleMs: 10 * 60_000, ackWaitMs: 15_000, drainTimeoutMs: 25_000 },
      ...{ maxAttempts: 5, backoffMs: [0, 1000, 5000, 15_000] },
    },
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

function deadOf(words: readonly string[], nats: NatsSettings, sessionId: string | undefined): DeadCommand {
  const [word = "ls", number, ...more] = words;
  const action = ACTIONS.find((name) => name === word);
  if (action === undefined) throw invalid(`dead takes ${ACTIONS.join(", ")}, not ${JSON.stringify(word)}`);
  refuseMore(action === "ls" && number !== undefined ? [number] : more);
  const seq = Number(number ?? 0);
  if (action !== "ls" && !(Number.isSafeInteger(seq) && seq > 0)) throw invalid(`dead ${action} needs a number`);
  return { type: "dead", nats, action, sessionId, seq };
}

function natsOf(values: { readonly "nats-url"?: string; readonly "stream-prefix"?: string }): NatsSettings {
  const streamPrefix = values["stream-prefix"] ?? "RELAY";
  if (!isName(streamPrefix)) throw invalid("--stream-prefix has letters, digits, _ and -");
  return { url: values["nats-url"] ?? "nats://127.0.0.1:4222", streamPrefix };
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
