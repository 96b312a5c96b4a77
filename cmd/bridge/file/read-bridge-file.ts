import { isAbsolute, join } from "node:path";
import type { z } from "zod";
import { type AuthConfig, readAuthConfig, readCrlPolicy } from "../../../internal/auth/auth-config.ts";
import { DomainError, errorText } from "../../../internal/base/errors.ts";
import { usableArgs } from "../../../internal/providers/stdio/usable-args.ts";
import type { BridgeConfig, ProviderConfig } from "./bridge-config.ts";
import { ConfigDocument, type KeyPath } from "./config-document.ts";
import { ConfigError, type ConfigFault } from "./config-fault.ts";
import { bridgeFile, PROVIDERS } from "./schema.ts";
import { fault, shapeFaults } from "./shape-faults.ts";

export interface BridgeFile {
  readonly config: BridgeConfig;
  /** What was left out of it. */
  readonly warnings: readonly ConfigFault[];
  /** Where a key stands, for faults of what it names. */
  readonly faultAt: (path: KeyPath, reason: string) => ConfigFault;
}

export interface BridgeFilePlace {
  /** For errors, as the person wrote it. */
  readonly file: string;
  /** Relative paths begin here: the folder of the configuration file. */
  readonly folder: string;
  /** The text of a file that the configuration names. */
  readonly readText: (path: string) => string;
}

type Values = z.output<typeof bridgeFile>;

const HEALTH_LISTEN = { host: "127.0.0.1", port: 9446 };

/** The path at which the list is served where no `crl.url` names another. */
const CRL_PATH = "/ca.crl";

/**
 * Reads the text of a `bridge.yaml`.
 * @throws ConfigError with every fault, by line
 */
export function readBridgeFile(text: string, place: BridgeFilePlace): BridgeFile {
  const document = new ConfigDocument(text);
  if (document.faults.length > 0) throw new ConfigError(place.file, document.faults);
  const read = bridgeFile.safeParse(document.value);
  const faultAt = (path: KeyPath, reason: string) => fault(document, path, reason);
  if (!read.success) throw new ConfigError(place.file, shapeFaults(document, read.error.issues));
  const reader = new Reader(read.data, document.value as RawFile, place, faultAt);
  const config = reader.config();
  if (config === undefined || reader.faults.length > 0) throw new ConfigError(place.file, reader.faults);
  return { config, warnings: reader.warnings, faultAt };
}

interface RawFile {
  readonly auth: unknown;
  readonly tls: { readonly crl_policy?: unknown };
  readonly sessions?: { readonly max_per_project?: unknown };
}

/** From what has the right shape to what it means. */
class Reader {
  readonly faults: ConfigFault[] = [];
  readonly warnings: ConfigFault[] = [];
  readonly #values: Values;
  readonly #raw: RawFile;
  readonly #place: BridgeFilePlace;
  readonly #faultAt: BridgeFile["faultAt"];

  constructor(values: Values, raw: RawFile, place: BridgeFilePlace, faultAt: BridgeFile["faultAt"]) {
    this.#values = values;
    this.#raw = raw;
    this.#place = place;
    this.#faultAt = faultAt;
  }

  /** Undefined: it has faults. */
  config(): BridgeConfig | undefined {
    const { server, tls, sessions, input, allowed_paths, logging, crl, limits, tracing, audit } = this.#values;
    const auth = this.#auth();
    const crlPolicyOf = this.#tried(["tls", "crl_policy"], () => readCrlPolicy(this.#raw.tls.crl_policy));
    const providers = this.#providers();
    this.#checkTogether();
    if (auth === undefined || crlPolicyOf === undefined) return undefined;
    return {
      listen: server.listen,
      healthListen: server.health_listen ?? HEALTH_LISTEN,
      isHealthOptional: server.health_listen === undefined,
      maxConnectionAgeMs: server.max_connection_age,
      stateDir: this.#maybePath(server.state_dir),
      tls: {
        ca: this.#path(tls.ca_bundle),
        cert: this.#path(tls.cert),
        key: this.#path(tls.key),
        crl: tls.crl.map((path) => this.#path(path)),
      },
      trust: { crlPolicyOf },
      auth,
      sessions: {
        maxPerProject: sessions.max_per_project,
        maxGlobal: sessions.max_global,
        idleTimeoutMs: sessions.idle_timeout === 0 ? undefined : sessions.idle_timeout,
        graceMs: sessions.stop_grace_period,
        eventBuffer: sessions.event_buffer_size,
        retentionMs: sessions.retention,
      },
      sessionTokens: this.#sessionTokens(),
      inputMaxBytes: input.max_size_bytes,
      providers,
      allowedPaths: allowed_paths,
      logging: { level: logging.level, format: logging.format, redactPatterns: logging.redact_patterns },
      crlServer: crl.listen && { listen: crl.listen, path: crl.url ? new URL(crl.url).pathname : CRL_PATH },
      crlUrl: crl.url,
      limits: { startsPerMinute: limits.starts_per_minute, inputsPerMinute: limits.inputs_per_minute },
      otlpEndpoint: tracing.otlp_endpoint,
      auditPath: this.#maybePath(audit.path),
    };
  }

  #auth(): AuthConfig | undefined {
    const readText = (path: string) => this.#place.readText(this.#path(path));
    const auth = this.#tried(["auth"], () => readAuthConfig(this.#raw.auth, readText));
    return auth && { ...auth, keyFiles: auth.keyFiles.map((file) => ({ ...file, path: this.#path(file.path) })) };
  }

  #sessionTokens(): BridgeConfig["sessionTokens"] {
    const { session_tokens } = this.#values;
    if (session_tokens === undefined) return undefined;
    const { key_path, issuer, audience, role, ttl } = session_tokens;
    return { keyPath: this.#path(key_path), issuer, audience, role, ttlMs: ttl };
  }

  #providers(): readonly ProviderConfig[] {
    return PROVIDERS.flatMap((name) => {
      const given = this.#values.providers[name];
      if (given === undefined) return [];
      for (const { arg, reason } of usableArgs(name, given.args).dropped) {
        this.warnings.push(this.#faultAt(["providers", name, "args"], `${arg} ${reason} and is left out`));
      }
      const binary = given.binary?.includes("/") ? this.#path(given.binary) : given.binary;
      return [{ name, binary, args: given.args, startupTimeoutMs: given.startup_timeout }];
    });
  }

  /** What is right in itself and wrong beside the rest. */
  #checkTogether(): void {
    const { auth, providers, sessions, session_tokens, crl, tls } = this.#values;
    const wrong = (path: KeyPath, reason: string) => this.faults.push(this.#faultAt(path, reason));
    if (Object.keys(providers).length === 0) {
      wrong(["providers"], `must name a provider: one of ${PROVIDERS.join(", ")}`);
    }
    if (this.#raw.sessions?.max_per_project !== undefined && sessions.max_per_project > sessions.max_global) {
      const reason = `exceeds sessions.max_global (${sessions.max_global}), which takes precedence`;
      this.warnings.push(this.#faultAt(["sessions", "max_per_project"], reason));
    }
    const { jwt_public_keys: keys } = auth;
    if (new Set(keys.map(({ issuer }) => issuer)).size > 1) {
      for (const [i, { issuer, projects }] of keys.entries()) {
        const reason = `has no projects: ${JSON.stringify(issuer)} may act for those of the other issuers too`;
        if (projects === undefined) this.warnings.push(this.#faultAt(["auth", "jwt_public_keys", i], reason));
      }
    }
    if (session_tokens?.role === "operator") {
      wrong(["session_tokens", "role"], "must not be operator: that role is for people");
    }
    if (crl.listen !== undefined && tls.crl.length === 0) {
      wrong(["crl", "listen"], "needs tls.crl: there is no list to serve");
    }
  }

  /** A failure counts as a fault of the key that its text begins with, or else of `path`. */
  #tried<T>(path: KeyPath, read: () => T): T | undefined {
    try {
      return read();
    } catch (err) {
      if (!(err instanceof DomainError)) throw err;
      const { at, reason } = keyAtStart(errorText(err)) ?? { at: path, reason: errorText(err) };
      this.faults.push(this.#faultAt(at, reason));
      return undefined;
    }
  }

  #maybePath(path: string | undefined): string | undefined {
    return path === undefined ? undefined : this.#path(path);
  }

  #path(path: string): string {
    return isAbsolute(path) ? path : join(this.#place.folder, path);
  }
}

/** `auth.jwt_public_keys[0].ca must be …`, as `readAuthConfig` writes it. */
function keyAtStart(text: string): { readonly at: KeyPath; readonly reason: string } | undefined {
  const [, unknown, key, reason] = /^(unknown key )?((?:auth|tls)[.\w[\]]*)(.*)$/s.exec(text) ?? [];
  if (key === undefined || reason === undefined) return undefined;
  const at = [...key.matchAll(/(\w+)|\[(\d+)\]/g)].map(([, name, index]) => name ?? Number(index));
  return { at, reason: unknown === undefined ? reason.trim() : "is not known here" };
}
