import type { AgentTokenRules } from "../../../internal/auth/agent-token.ts";
import type { AuthConfig } from "../../../internal/auth/auth-config.ts";
import type { TlsPaths } from "../../../internal/auth/tls/read-tls-files.ts";
import type { TrustOptions } from "../../../internal/pki/trust.ts";
import type { ListenAddress } from "../../../internal/rpc/port/listen.ts";
import type { ProviderName } from "./schema.ts";

export interface ProviderConfig {
  readonly name: ProviderName;
  /** A name found on PATH, or an absolute path. Undefined: the provider's default. */
  readonly binary: string | undefined;
  /** As they are written in the file; not every argument suits each mode. */
  readonly args: readonly string[];
  readonly startupTimeoutMs: number;
  /** The `agent_opts` that a caller may set; undefined: all that the provider supports. */
  readonly allow: readonly string[] | undefined;
}

/** The contents of `bridge.yaml`. All paths are absolute, all times milliseconds. */
export interface BridgeConfig {
  readonly listen: ListenAddress;
  readonly healthListen: ListenAddress;
  /** True if the address is the default: if another process uses it, the bridge serves without a health port. */
  readonly isHealthOptional: boolean;
  /** Undefined: connections have no maximum age. */
  readonly maxConnectionAgeMs: number | undefined;
  /** Undefined: not set. */
  readonly stateDir: string | undefined;
  readonly tls: TlsPaths;
  readonly trust: TrustOptions;
  readonly auth: AuthConfig;
  readonly sessions: {
    readonly maxPerProject: number;
    readonly maxGlobal: number;
    /** Undefined: a session may be idle without limit. */
    readonly idleTimeoutMs: number | undefined;
    readonly graceMs: number;
    readonly eventBuffer: number;
    readonly retentionMs: number;
  };
  /** Undefined: agents get no tokens. */
  readonly sessionTokens: AgentTokenRules | undefined;
  /** The server of `threads` whose tools agents get; undefined: none. */
  readonly threads: { readonly url: string; readonly caPath?: string | undefined } | undefined;
  /** The name of the user that each project's agents run as. Empty: they run as the bridge's user. */
  readonly runAs: ReadonlyMap<string, string>;
  /** The folder for the session folders of such users. */
  readonly projectsDir: string;
  readonly inputMaxBytes: number;
  readonly providers: readonly ProviderConfig[];
  readonly allowedPaths: readonly string[];
  readonly logging: {
    readonly level: "debug" | "info" | "warn" | "error";
    readonly format: "json" | "text";
    /** Patterns in addition to the built-in ones. */
    readonly redactPatterns: readonly string[];
  };
  /** The address and path at which revocation lists are served over HTTP. */
  readonly crlServer: { readonly listen: ListenAddress; readonly path: string } | undefined;
  /** The URL of the revocation list in the certificates. */
  readonly crlUrl: string | undefined;
  readonly limits: { readonly startsPerMinute: number; readonly inputsPerMinute: number };
  /** Base URL of a span collector; undefined: the one in the environment; without either, no spans are created. */
  readonly otlpEndpoint: string | undefined;
  /** Undefined: stderr. */
  readonly auditPath: string | undefined;
}
