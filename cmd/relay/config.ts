import type { LogLevel } from "../../internal/base/logger.ts";
import { noArguments, takeArguments } from "../../internal/cli/command/arguments.ts";
import type { Given } from "../../internal/cli/command/command.ts";
import { logLevelOf } from "../../internal/cli/command/log-level.ts";
import { isName } from "../../internal/relay/nats/subjects.ts";
import type { ListenAddress } from "../../internal/rpc/port/listen.ts";
import { parseListenAddress } from "../../internal/rpc/port/parse-address.ts";
import type {
  DEAD_FLAGS,
  DIAL_FLAGS,
  NATS_FLAGS,
  RESULTS_FLAGS,
  SEND_FLAGS,
  SERVE_FLAGS,
  STATUS_FLAGS,
} from "./flags/flags.ts";
import { invalid, nameOf, needed, relayServer } from "./flags/given.ts";
import type { NatsCredentials } from "./nats-auth.ts";
import { MOST_MESSAGE_BYTES } from "./schema.ts";
import { secondsMs } from "./seconds.ts";
import { readSigner, type TokenSigner } from "./token-config.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The settings with which a command reaches NATS. */
export interface NatsSettings {
  readonly url: string;
  readonly streamPrefix: string;
  readonly credentials: NatsCredentials;
}

/** The part of `NatsSettings` that flags and environment set; the configuration file has the rest. */
export interface NatsFlags {
  readonly url: string | undefined;
  readonly streamPrefix: string | undefined;
  readonly credentials: Omit<NatsCredentials, "inboxPrefix">;
  /** The path, unchanged. */
  readonly configFile: string | undefined;
}

/** Settings from flags and environment; undefined: the file decides. Times in ms. */
export interface ServeCommand {
  readonly nats: NatsFlags;
  readonly listen: ListenAddress | undefined;
  readonly portOfEnvironment: number | undefined;
  readonly healthListen: ListenAddress | undefined;
  readonly relayId: string | undefined;
  readonly pingIntervalMs: number | undefined;
  readonly pongTimeoutMs: number | undefined;
  readonly maxMessageBytes: number | undefined;
  readonly allowHosts: readonly string[];
  readonly tlsDir: string | undefined;
  readonly insecurePlaintext: boolean;
  readonly logLevel: LogLevel | undefined;
  readonly crashAt: string | undefined;
}

export interface SendCommand {
  readonly nats: NatsFlags;
  readonly sessionId: string;
  readonly role: string;
  /** Undefined: a new id. */
  readonly id: string | undefined;
  readonly task: string;
  readonly requirements: readonly string[];
  /** If set, the task is the result of this tool. */
  readonly toolId: string | undefined;
  readonly continues: boolean;
  /** Prints the results until the last one. */
  readonly wait: boolean;
  readonly timeoutMs: number;
}

export interface ResultsCommand {
  readonly nats: NatsFlags;
  readonly sessionId: string;
  readonly role: string | undefined;
  readonly id: string | undefined;
  readonly follow: boolean;
}

export interface DeadCommand {
  readonly nats: NatsFlags;
  readonly action: "ls" | "show" | "requeue" | "drop";
  readonly sessionId: string | undefined;
  /** The sequence of the dead letter in the stream; 0 for `ls`. */
  readonly seq: number;
}

export interface DialCommand {
  readonly server: string;
  readonly sessionId: string;
  readonly role: string;
  readonly agentId: string;
  /** Undefined: plaintext. */
  readonly tlsDir: string | undefined;
  readonly token: { readonly file: string } | TokenSigner | undefined;
  readonly command: readonly [string, ...string[]];
  /** The complete environment, for the agent. */
  readonly env: Env;
}

export interface StatusCommand {
  readonly nats: NatsFlags;
  readonly json: boolean;
}

/** Reads flags and environment of `relay` and `relay check`. @throws DomainError `invalid`, naming the flag */
export function readServe(call: string, given: Given<typeof SERVE_FLAGS>, env: Env): ServeCommand {
  noArguments(call, given);
  const { values } = given;
  const address = (flag: string, text: string | undefined) => (text === undefined ? undefined : addressOf(flag, text));
  const seconds = (flag: string, text: string | undefined) => (text === undefined ? undefined : secondsMs(flag, text));
  const maxMessageBytes = values["max-message-bytes"];
  if (maxMessageBytes !== undefined && (maxMessageBytes < 1024 || maxMessageBytes > MOST_MESSAGE_BYTES)) {
    throw invalid(`--max-message-bytes is between 1024 and ${MOST_MESSAGE_BYTES}, not ${maxMessageBytes}`);
  }
  return {
    nats: readNats(given),
    listen: address("--listen", values.listen),
    portOfEnvironment: portOf(env["OUROCODUS_RELAY_PORT"]),
    healthListen: address("--health-listen", values["health-listen"]),
    relayId: values["relay-id"],
    pingIntervalMs: seconds("--ping-interval", values["ping-interval"]),
    pongTimeoutMs: seconds("--pong-timeout", values["pong-timeout"]),
    ...{ maxMessageBytes, allowHosts: values["allow-host"] ?? [] },
    tlsDir: values["tls-dir"],
    insecurePlaintext: values["insecure-plaintext"] ?? false,
    logLevel: logLevelOf(values["log-level"]),
    crashAt: env["GT_RELAY_CRASH_AT"] || undefined,
  };
}

/** @throws DomainError `invalid`, naming the variable */
function portOf(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw invalid(`OUROCODUS_RELAY_PORT takes a port, from 0 to 65535, not ${JSON.stringify(text)}`);
}

/** @throws DomainError `invalid`, naming the flag */
export function readStatus(given: Given<typeof STATUS_FLAGS>): StatusCommand {
  noArguments("relay status", given);
  return { nats: readNats(given), json: given.values.json ?? false };
}

/** Reads the flags of `relay dead ACTION`. @throws DomainError `invalid`, naming the flag or argument */
export function readDead(action: DeadCommand["action"], given: Given<typeof DEAD_FLAGS>): DeadCommand {
  const call = `relay dead ${action}`;
  const [number = "0"] = takeArguments(call, given.positionals, action === "ls" ? [] : ["number"]);
  const seq = Number(number);
  if (action !== "ls" && !(/^[1-9]\d*$/.test(number) && Number.isSafeInteger(seq))) {
    throw invalid(`dead ${action} takes a number that dead ls shows, not ${JSON.stringify(number)}`);
  }
  return { nats: readNats(given), action, sessionId: nameOf("--session", given.values.session), seq };
}

/** @throws DomainError `invalid`, naming the flag */
export function readResults(given: Given<typeof RESULTS_FLAGS>): ResultsCommand {
  noArguments("relay results", given);
  const { session, role, id, follow = false } = given.values;
  return {
    ...{ nats: readNats(given), role: nameOf("--role", role), id, follow },
    sessionId: needed("--session", nameOf("--session", session)),
  };
}

/** @throws DomainError `invalid`, naming the flag */
export function readSend(given: Given<typeof SEND_FLAGS>): SendCommand {
  const { values, positionals, rest = [] } = given;
  return {
    ...{ nats: readNats(given), id: values.id, requirements: values.requirement ?? [] },
    task: [...positionals, ...rest].join(" "),
    sessionId: needed("--session", nameOf("--session", values.session)),
    role: needed("--role", nameOf("--role", values.role)),
    ...{ toolId: values["tool-result"], continues: values.continue ?? false, wait: values.wait ?? false },
    timeoutMs: values.timeout ?? 1_800_000,
  };
}

/** @throws DomainError `invalid`, naming the flag */
export function readDial({ values, positionals, rest = [] }: Given<typeof DIAL_FLAGS>, env: Env): DialCommand {
  noArguments("relay dial", { positionals });
  const [program, ...args] = rest;
  if (program === undefined) throw invalid("the agent's command is missing", "relay dial … -- COMMAND");
  const { "tls-dir": tlsDir, "token-file": file } = values;
  const server = relayServer(values.server, tlsDir);
  const signer = readSigner(values);
  if (file !== undefined && signer !== undefined) throw invalid("a token comes from --token-file or from --jwt-key");
  const token = file === undefined ? signer : { file };
  if (token !== undefined && tlsDir === undefined) throw invalid("a token is sent over wss:// only: give --tls-dir");
  return {
    ...{ server, command: [program, ...args], env, tlsDir, token },
    sessionId: needed("--session", nameOf("--session", values.session)),
    role: needed("--role", nameOf("--role", values.role)),
    agentId: needed("--agent-id", nameOf("--agent-id", values["agent-id"])),
  };
}

/** Reads the flags with which a command reaches NATS. @throws DomainError `invalid`, naming the flag */
function readNats({ values }: Pick<Given<typeof NATS_FLAGS>, "values">): NatsFlags {
  const { config, "nats-url": url, "stream-prefix": prefix } = values;
  const { "nats-creds": creds, "nats-nkey": nkey, "nats-tls-dir": tlsDir } = values;
  if (prefix !== undefined && !isName(prefix)) throw invalid("--stream-prefix takes letters, digits, _ and -");
  return { configFile: config, url, streamPrefix: prefix, credentials: { creds, nkey, tlsDir } };
}

function addressOf(flag: string, text: string): ListenAddress {
  const address = parseListenAddress(text);
  if (address === undefined) throw invalid(`${flag} takes HOST:PORT, not ${JSON.stringify(text)}`);
  return address;
}
