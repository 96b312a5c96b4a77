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
  /** As they were written; not all of them suit each mode. */
  readonly args: readonly string[];
  readonly startupTimeoutMs: number;
  /** The `agent_opts` that a caller may choose; undefined: all that the provider knows. */
  readonly allow: readonly string[] | undefined;
}

/** What `bridge.yaml` says. All paths are absolute, all times milliseconds. */
export interface BridgeConfig {
  readonly listen: ListenAddress;
  readonly healthListen: ListenAddress;
  /** The address is the usual one: where another process has it, the bridge serves all the same. */
  readonly isHealthOptional: boolean;
  /** Undefined: connections have no maximum age. */
  readonly maxConnectionAgeMs: number | undefined;
  /** Undefined: not said. */
  readonly stateDir: string | undefined;
  readonly tls: TlsPaths;
  readonly trust: TrustOptions;
  readonly auth: AuthConfig;
  readonly sessions: {
    readonly maxPerProject: number;
    readonly maxGlobal: number;
    /** Undefined: a session may be idle for any time. */
    readonly idleTimeoutMs: number | undefined;
    readonly graceMs: number;
    readonly eventBuffer: number;
    readonly retentionMs: number;
  };
  /** Undefined: agents get no tokens. */
  readonly sessionTokens: AgentTokenRules | undefined;
  /** The name of the user that each project's agents run as. Empty: they run as the bridge's user. */
  readonly runAs: ReadonlyMap<string, string>;
  /** Where the folders of such users' sessions lie. */
  readonly projectsDir: string;
  readonly inputMaxBytes: number;
  readonly providers: readonly ProviderConfig[];
  readonly allowedPaths: readonly string[];
  readonly logging: {
    readonly level: "debug" | "info" | "warn" | "error";
    readonly format: "json" | "text";
    /** Beside the built-in ones. */
    readonly redactPatterns: readonly string[];
  };
  /** Where revocation lists are served over HTTP, and at which path. */
  readonly crlServer: { readonly listen: ListenAddress; readonly path: string } | undefined;
  /** Where the certificates say that the list is. */
  readonly crlUrl: string | undefined;
  readonly limits: { readonly startsPerMinute: number; readonly inputsPerMinute: number };
  /** Base URL of a span collector; undefined: the one in the environment; without either, no spans are created. */
  readonly otlpEndpoint: string | undefined;
  /** Undefined: stderr. */
  readonly auditPath: string | undefined;
}
