import { existsSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "../../internal/base/errors.ts";
import type { LogLevel } from "../../internal/base/logger.ts";
import { isLoopbackHost } from "../../internal/base/loopback.ts";
import { type ConfigFile, openConfigFile, readConfigText } from "../../internal/config/config-file.ts";
import type { Findings } from "../../internal/config/findings.ts";
import type { DialectOptions } from "../../internal/relay/acp/dialect.ts";
import type { ListenAddress } from "../../internal/rpc/port/listen.ts";
import { checkBridge } from "./bridge/bridge-options.ts";
import type { NatsFlags, NatsSettings, ServeCommand } from "./config.ts";
import { type NatsCredentials, natsAuth } from "./nats-auth.ts";
import { type RelayValues, relayFile } from "./schema.ts";
import { type SigningSettings, signerOf, signingOf, type TrustSettings, trustOf } from "./trust-settings.ts";

/** The settings of `relay serve`. Precedence: flags, environment, file, defaults. Times in ms. */
export interface RelaySettings {
  readonly nats: NatsSettings & { readonly replicas: number; readonly outboxBytes: number };
  readonly listen: ListenAddress;
  readonly healthListen: ListenAddress;
  readonly relayId: string;
  readonly pingIntervalMs: number;
  readonly pongTimeoutMs: number;
  readonly maxMessageBytes: number;
  readonly allowHosts: readonly string[];
  readonly trust: TrustSettings;
  readonly signing: SigningSettings;
  readonly logLevel: LogLevel;
  readonly logging: Pick<RelayValues["logging"], "format" | "redact_patterns">;
  /** Base URL of a collector of spans; undefined: the environment decides. */
  readonly otlpEndpoint: string | undefined;
  readonly turns: RelayValues["turns"];
  readonly roles: RelayValues["roles"];
  readonly bridges: RelayValues["bridges"];
  readonly agentsProtocol: boolean;
  readonly dialects: DialectOptions;
  /** For tests: the point of a turn at which the process kills itself with SIGKILL. */
  readonly crashAt: string | undefined;
}

const DEFAULT_FILE = "relay.yaml";
const DEFAULT_ID = "relay_main";
const LOOPBACK = "127.0.0.1";

/**
 * Reads the settings, and their faults by line.
 * @throws ConfigError for faults of the file's text; DomainError `invalid` if a named file cannot be read
 */
export function openSettings(command: ServeCommand): { readonly settings: RelaySettings; readonly findings: Findings } {
  const file = openFile(command.nats.configFile);
  const { value, findings } = file;
  const { nats, connections } = value;
  const port = command.portOfEnvironment;
  const relayId = command.relayId ?? value.relay_id ?? DEFAULT_ID;
  const listen = command.listen ?? (port === undefined ? value.listen : { host: LOOPBACK, port });
  const settings: RelaySettings = {
    nats: { ...natsOf(command.nats, value), replicas: nats.replicas, outboxBytes: nats.outbox_bytes },
    listen: listen ?? { host: LOOPBACK, port: 8080 },
    healthListen: command.healthListen ?? value.health_listen ?? { host: LOOPBACK, port: 8081 },
    relayId,
    pingIntervalMs: command.pingIntervalMs ?? connections.ping_interval ?? 30_000,
    pongTimeoutMs: command.pongTimeoutMs ?? connections.pong_timeout ?? 10_000,
    maxMessageBytes: command.maxMessageBytes ?? connections.max_message_bytes ?? 512 * 1024,
    ...{ trust: trustOf(command, file), signing: signingOf(relayId, file) },
    ...{ logLevel: command.logLevel ?? value.logging.level ?? "info", logging: value.logging },
    otlpEndpoint: value.tracing.otlp_endpoint,
    ...{ turns: value.turns, roles: value.roles, bridges: value.bridges },
    ...{ agentsProtocol: value.agents_protocol, dialects: { acp2: value.dialects.acp_v2 } },
    ...{ allowHosts: command.allowHosts, crashAt: command.crashAt },
  };
  const { url, credentials } = settings.nats;
  findings.tried(["nats"], () => natsAuth(url, credentials));
  checkCredentials(findings, credentials);
  checkListen(settings, command);
  checkBridges(findings, value);
  return { settings, findings };
}

function checkListen({ listen: { host }, trust }: RelaySettings, { insecurePlaintext }: ServeCommand): void {
  if (isLoopbackHost(host) || trust.tls !== undefined || insecurePlaintext) return;
  throw new DomainError("invalid", `cannot serve ${host} in plaintext`, {
    fields: { hint: "give --tls-dir, or --insecure-plaintext if the network itself keeps strangers out" },
  });
}

/** Reads how a command reaches NATS and signs its messages. @throws as `openSettings` */
export function openNats(flags: NatsFlags): NatsSettings & Pick<SigningSettings, "signer"> {
  const { value } = openFile(flags.configFile);
  return { ...natsOf(flags, value), signer: signerOf(value.relay_id ?? DEFAULT_ID, value) };
}

function natsOf(flags: NatsFlags, { nats }: RelayValues): NatsSettings {
  return {
    url: flags.url ?? nats.url ?? "nats://127.0.0.1:4222",
    streamPrefix: flags.streamPrefix ?? nats.stream_prefix ?? "RELAY",
    credentials: credentialsOf(flags.credentials, nats),
  };
}

/** A creds file of the flags replaces an nkey of the file, and vice versa. */
function credentialsOf(flags: NatsFlags["credentials"], nats: RelayValues["nats"]): NatsCredentials {
  const hasFlag = flags.creds !== undefined || flags.nkey !== undefined;
  return {
    creds: hasFlag ? flags.creds : nats.creds,
    nkey: hasFlag ? flags.nkey : nats.nkey,
    tlsDir: flags.tlsDir ?? nats.tls_dir,
    inboxPrefix: nats.inbox_prefix,
  };
}

/** Warns of secret files that every user of the machine can use. */
function checkCredentials(findings: Findings, { creds, nkey, tlsDir }: NatsCredentials): void {
  for (const [key, file] of [
    ["creds", creds],
    ["nkey", nkey],
    ["tls_dir", tlsDir && join(tlsDir, "tls.key")],
  ] as const) {
    if (file !== undefined && existsSync(file)) findings.checkPrivate(["nats", key], file);
  }
}

function checkBridges(findings: Findings, { bridges, roles }: RelayValues): void {
  for (const name of Object.keys(bridges)) findings.tried(["bridges", name], () => checkBridge(bridges, name));
  for (const [role, { link, bridge = "" }] of Object.entries(roles)) {
    const isUnknown = link === "bridge" && !Object.hasOwn(bridges, bridge);
    if (isUnknown) findings.fault(["roles", role, "bridge"], `is not one of bridges: ${JSON.stringify(bridge)}`);
  }
}

/** Opens the configuration file. A named file must exist; `relay.yaml` need not. */
function openFile(named: string | undefined): ConfigFile<RelayValues> {
  if (named !== undefined) return openConfigFile(named, relayFile);
  if (existsSync(DEFAULT_FILE)) return openConfigFile(DEFAULT_FILE, relayFile);
  return readConfigText("", relayFile, { file: "flags and environment", folder: process.cwd() });
}
