import { agentTokenRules } from "../../../internal/auth/agent-token-block.ts";
import { openAuth } from "../../../internal/auth/auth-config.ts";
import { type ConfigFile, openConfigFile, readConfigText } from "../../../internal/config/config-file.ts";
import type { Findings } from "../../../internal/config/findings.ts";
import { optionNames } from "../../../internal/providers/stdio/create-providers.ts";
import { usableArgs } from "../../../internal/providers/stdio/usable-args.ts";
import type { BridgeConfig, ProviderConfig } from "./bridge-config.ts";
import { type BridgeValues, bridgeFile, PROVIDERS } from "./schema.ts";

export interface BridgeFile {
  readonly config: BridgeConfig;
  readonly findings: Findings;
}

const HEALTH_LISTEN = { host: "127.0.0.1", port: 9446 };

/** The path of the served list if no `crl.url` names another. */
const CRL_PATH = "/ca.crl";

/** Opens a `bridge.yaml`. @throws as `openConfigFile` */
export function openBridgeFile(path: string): BridgeFile {
  return bridgeFileOf(openConfigFile(path, bridgeFile));
}

/**
 * Like `openBridgeFile`, for a text.
 * @internal
 */
export function readBridgeFile(text: string, place: { readonly file: string; readonly folder: string }): BridgeFile {
  return bridgeFileOf(readConfigText(text, bridgeFile, place));
}

function bridgeFileOf(file: ConfigFile<BridgeValues>): BridgeFile {
  const { value, findings } = file;
  const { server, tls, sessions, session_tokens: tokens, logging, crl, limits } = value;
  const providers = providersOf(value, findings);
  warnOfLimits(file);
  warnOfIssuers(file);
  const config = {
    listen: server.listen,
    healthListen: server.health_listen ?? HEALTH_LISTEN,
    isHealthOptional: server.health_listen === undefined,
    maxConnectionAgeMs: server.max_connection_age,
    stateDir: server.state_dir,
    tls: { ca: tls.ca_bundle, cert: tls.cert, key: tls.key, crl: tls.crl },
    trust: { crlPolicyOf: tls.crl_policy },
    auth: openAuth(value.auth, ["auth"], findings),
    sessions: {
      maxPerProject: sessions.max_per_project,
      maxGlobal: sessions.max_global,
      idleTimeoutMs: sessions.idle_timeout === 0 ? undefined : sessions.idle_timeout,
      graceMs: sessions.stop_grace_period,
      eventBuffer: sessions.event_buffer_size,
      retentionMs: sessions.retention,
    },
    sessionTokens: tokens && agentTokenRules(tokens),
    threads: tokens?.url === undefined ? undefined : { url: tokens.url, caPath: tokens.ca_path || undefined },
    runAs: runAsOf(value),
    projectsDir: server.projects_dir,
    inputMaxBytes: value.input.max_size_bytes,
    providers,
    allowedPaths: value.allowed_paths,
    logging: { level: logging.level, format: logging.format, redactPatterns: logging.redact_patterns },
    crlServer: crl.listen && { listen: crl.listen, path: crl.url ? new URL(crl.url).pathname : CRL_PATH },
    crlUrl: crl.url,
    limits: { startsPerMinute: limits.starts_per_minute, inputsPerMinute: limits.inputs_per_minute },
    otlpEndpoint: value.tracing.otlp_endpoint,
    auditPath: value.audit.path,
  };
  return { config, findings };
}

function providersOf({ providers }: BridgeValues, findings: Findings): readonly ProviderConfig[] {
  return PROVIDERS.flatMap((name) => {
    const given = providers[name];
    if (given === undefined) return [];
    const { binary, args, startup_timeout: startupTimeoutMs, allow } = given;
    const known = optionNames(name);
    for (const [i, option] of (allow ?? []).entries()) {
      if (known.includes(option)) continue;
      findings.fault(
        ["providers", name, "allow", i],
        `${name} has no such option; its options are ${known.join(", ")}`,
      );
    }
    for (const { arg, reason } of usableArgs(name, args).dropped) {
      findings.warning(["providers", name, "args"], `${arg} ${reason} and is left out`);
    }
    return [{ name, binary, args, startupTimeoutMs, allow }];
  });
}

function runAsOf({ projects }: BridgeValues): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(projects).flatMap(([name, { run_as }]) => (run_as === undefined ? [] : [[name, run_as]])),
  );
}

function warnOfLimits({ value: { sessions }, findings, has }: ConfigFile<BridgeValues>): void {
  const key = ["sessions", "max_per_project"];
  if (!has(key) || sessions.max_per_project <= sessions.max_global) return;
  findings.warning(key, `exceeds sessions.max_global (${sessions.max_global}), which takes precedence`);
}

function warnOfIssuers({ value: { auth }, findings }: ConfigFile<BridgeValues>): void {
  const { jwt_public_keys: keys } = auth;
  if (new Set(keys.map(({ issuer }) => issuer)).size < 2) return;
  for (const [i, { issuer, projects }] of keys.entries()) {
    const reason = `has no projects: ${JSON.stringify(issuer)} may also act for the other issuers' projects`;
    if (projects === undefined) findings.warning(["auth", "jwt_public_keys", i], reason);
  }
}
