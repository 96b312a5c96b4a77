import { resolve } from "node:path";
import { DomainError } from "../../internal/base/errors.ts";
import type { LogLevel } from "../../internal/base/logger.ts";
import { isLoopbackHost } from "../../internal/base/loopback.ts";
import { knownWord, noArguments } from "../../internal/cli/command/arguments.ts";
import type { Given } from "../../internal/cli/command/command.ts";
import { logLevelOf } from "../../internal/cli/command/log-level.ts";
import type { TrustOptions } from "../../internal/pki/trust.ts";
import type { ListenAddress } from "../../internal/rpc/port/listen.ts";
import { parseAddress } from "../../internal/rpc/port/parse-address.ts";
import { readServer } from "../../internal/terminal/trust/server-address.ts";
import { CLAIM_PATTERNS } from "../../internal/threads/api/claims.ts";
import { AGENT_TTL_MS, defaultStateDir, PERSON_TTL_MS } from "../../internal/threads/client/local-issuer.ts";
import type { BridgePlace } from "../../internal/threads/wake/bridge-runtimes.ts";
import { isDatabaseUrl } from "./database-url.ts";
import type { ARCHIVE_FLAGS, COMMON_FLAGS, SERVE_FLAGS, TOKEN_FLAGS } from "./flags.ts";
import { type FileConfig, usableConfig } from "./open-config.ts";

/** The settings that all commands share: the database, the keys and the local sidecars. */
export interface CommonSettings {
  readonly stateDir: string;
  /** Undefined: a private PostgreSQL. */
  readonly databaseUrl: string | undefined;
  readonly migrateUrl: string | undefined;
  readonly postgres: string | undefined;
  readonly workspace: string;
  /** XDG_RUNTIME_DIR, the usual parent of the folder in which sidecars of this machine announce themselves. */
  readonly runtimeDir: string | undefined;
  /** Further settings, from the file of `--config`. */
  readonly fromFile: FileConfig;
  readonly env: Env;
}

/** `archive`: the path of the archive; undefined: stdin or stdout. */
export interface ArchiveConfig extends CommonSettings {
  readonly archive: string | undefined;
}

export interface ServeConfig extends CommonSettings {
  readonly listen: ListenAddress;
  readonly healthListen: ListenAddress;
  /** Undefined: plaintext, on loopback only. */
  readonly tls: TlsFolderPlace | undefined;
  readonly runtime: "local" | "none" | BridgePlace;
  readonly logLevel: LogLevel;
  /** Undefined: with a configuration file, decisions about callers go to stderr; without one they are not recorded. */
  readonly auditLog: string | undefined;
}

export interface TokenConfig extends CommonSettings {
  readonly agent: string;
  readonly role: string;
  readonly session: string | undefined;
  readonly ttlMs: number;
  readonly file: string | undefined;
}

/** A folder with TLS files, and which of its CAs must have a revocation list. */
export interface TlsFolderPlace {
  readonly dir: string;
  readonly trust: TrustOptions;
}

type FileRuntime = NonNullable<FileConfig["values"]>["runtime"];
type Env = Readonly<Record<string, string | undefined>>;

const LONGEST = { operator: PERSON_TTL_MS, agent: AGENT_TTL_MS };

/** Reads flags and environment of `threads serve`. @throws DomainError `invalid`, naming the flag */
export function readServe(given: Given<typeof SERVE_FLAGS>, env: Env): ServeConfig {
  const { values } = given;
  const place = readCommonSettings(given, env);
  const { server, logging, audit } = place.fromFile.values ?? {};
  const runtime = runtimeOf(place.fromFile.values?.runtime, values.runtime, values.bridge);
  const logLevel = logLevelOf(values["log-level"]) ?? logging?.level ?? "info";
  const tls = tlsOf(place.fromFile.values, values["tls-dir"]);
  const isOpen = tls !== undefined;
  return {
    ...{ ...place, runtime, logLevel, tls, auditLog: values["audit-log"] ?? audit?.path },
    listen: addressOf(values.listen, server?.listen, "127.0.0.1:9448", "listen", isOpen),
    healthListen: addressOf(values["health-listen"], server?.health_listen, "127.0.0.1:9449", "health-listen", isOpen),
  };
}

/** The TLS folder from the flag, or else from the file. The revocation policy always comes from the file. */
export function tlsOf(values: FileConfig["values"], flag?: string): TlsFolderPlace | undefined {
  const dir = flag === undefined ? values?.tls.dir : resolve(flag);
  return dir === undefined ? undefined : { dir, trust: values ? { crlPolicyOf: values.tls.crl_policy } : {} };
}

/**
 * The runtime from the flags, or else from the file. The credentials for a bridge always come from the file.
 * @throws DomainError `invalid` for a bridge without a URL or credentials
 */
export function runtimeOf(file: FileRuntime | undefined, kind?: string, server?: string): ServeConfig["runtime"] {
  const which = knownWord("--runtime", kind ?? file?.kind, ["local", "bridge", "none"]);
  if (which !== "bridge") return which;
  const url = server ?? file?.bridge_url;
  const { tls_dir: tlsDir, jwt_key: keyPath, jwt_issuer: issuer, jwt_audience: audience = "" } = file ?? {};
  if (url === undefined) throw new DomainError("invalid", "--runtime bridge needs --bridge, or runtime.bridge_url");
  if (tlsDir === undefined || keyPath === undefined || issuer === undefined) {
    throw new DomainError("invalid", "--runtime bridge needs a certificate and a key", {
      fields: { hint: "pass --config with a file that sets runtime.tls_dir, jwt_key and jwt_issuer" },
    });
  }
  return { server: readServer(url, "--bridge"), tlsDir, keyPath, issuer, audience };
}

/** Reads flags and environment of `threads token`. @throws DomainError `invalid`, naming the flag */
export function readTokenConfig(given: Given<typeof TOKEN_FLAGS>, env: Env): TokenConfig {
  const place = readCommonSettings(given, env);
  const { agent, role = "worker", session, ttl, file } = given.values;
  if (agent === undefined) throw new DomainError("invalid", "threads token needs --agent");
  if (!CLAIM_PATTERNS.agent_id.test(agent))
    throw new DomainError("invalid", `--agent is not an address: ${JSON.stringify(agent)}`);
  // The server refuses tokens of its own role, and of names that it does not take.
  if (!CLAIM_PATTERNS.role.test(role) || role === "system") {
    throw new DomainError("invalid", `--role is not a role: ${JSON.stringify(role)}`);
  }
  if (session !== undefined && !CLAIM_PATTERNS.session_id.test(session)) {
    throw new DomainError("invalid", `--session is not a session: ${JSON.stringify(session)}`);
  }
  const longest = role === "operator" ? LONGEST.operator : LONGEST.agent;
  const ttlMs = ttl ?? longest;
  if (ttlMs < 1000 || ttlMs > longest) {
    throw new DomainError("invalid", `--ttl is between 1s and ${longest / 60_000}m for the role ${role}`);
  }
  return { ...place, agent, role, session, ttlMs, file };
}

/** Reads flags and environment of `threads export` and `threads import`. @throws DomainError `invalid` */
export function readArchive(given: Given<typeof ARCHIVE_FLAGS>, env: Env): ArchiveConfig {
  return { ...readCommonSettings(given, env), archive: given.values.file };
}

/**
 * Reads the flags and environment that all commands share.
 * @throws DomainError `invalid`, also if there is a positional argument
 */
export function readCommonSettings(given: Given<typeof COMMON_FLAGS>, env: Env): CommonSettings {
  const { values } = given;
  noArguments("threads", given);
  const fromFile = usableConfig(values.config);
  for (const name of ["database-url", "migrate-url"] as const) {
    const url = values[name];
    if (url !== undefined && !isDatabaseUrl(url)) {
      throw new DomainError("invalid", `--${name} is not a URL that begins with postgres://`);
    }
  }
  const databaseUrl = values["database-url"] ?? fromFile.databaseUrl;
  const migrateUrl = values["migrate-url"] ?? (values["database-url"] === undefined ? fromFile.migrateUrl : undefined);
  const workspace = values.workspace ?? "default";
  if (!CLAIM_PATTERNS.workspace_id.test(workspace))
    throw new DomainError("invalid", `--workspace is not a name: ${JSON.stringify(workspace)}`);
  return {
    stateDir: values["state-dir"] ?? defaultStateDir(env, databaseUrl === undefined),
    databaseUrl,
    migrateUrl: migrateUrl ?? databaseUrl,
    postgres: values.postgres,
    workspace,
    fromFile,
    runtimeDir: env["XDG_RUNTIME_DIR"],
    env: { PATH: env["PATH"] },
  };
}

/**
 * The address from the flag, or else from the file, or else the default. `isOpen`: any address is allowed, because TLS
 * is used; otherwise only a loopback address.
 */
function addressOf(
  given: string | undefined,
  ofFile: ListenAddress | undefined,
  otherwise: string,
  flag: string,
  isOpen: boolean,
): ListenAddress {
  const address = given === undefined && ofFile !== undefined ? ofFile : parseAddress(given ?? otherwise);
  if (address === undefined)
    throw new DomainError("invalid", `--${flag} takes HOST:PORT, not ${JSON.stringify(given)}`);
  if (isOpen || isLoopbackHost(address.host)) return address;
  const what = given === undefined ? `server.${flag.replace("-", "_")}` : `--${flag}`;
  throw new DomainError("invalid", `${what}: cannot serve ${address.host || "every address"} in plaintext`, {
    fields: { hint: "pass --tls-dir with a folder that contains a certificate, or listen on a loopback address" },
  });
}
