import { signingKeyOf } from "../../internal/auth/mint-token.ts";
import type { TokenKeyFile } from "../../internal/auth/token-key-files.ts";
import { publicKeysOf } from "../../internal/auth/token-key-files.ts";
import { openConfigFile } from "../../internal/config/config-file.ts";
import type { Findings } from "../../internal/config/findings.ts";
import { readNamedFileSync } from "../../internal/files/named-file.ts";
import type { ThreadsIssuer } from "../../internal/threads/api/claims.ts";
import { AGENT_TTL_MS, AUDIENCE, PERSON_TTL_MS } from "../../internal/threads/client/local-issuer.ts";
import { DEFAULT_POLICY, type Policy } from "../../internal/threads/domain/policy.ts";
import { isDatabaseUrl } from "./database-url.ts";
import { type ThreadsValues, threadsFile } from "./schema.ts";

/** The settings of a configuration file and of the files that it names. */
export interface FileConfig {
  readonly values: ThreadsValues | undefined;
  readonly databaseUrl: string | undefined;
  readonly migrateUrl: string | undefined;
  readonly poolMax: number | undefined;
  /** Undefined: the local issuers. */
  readonly issuers: readonly (TokenKeyFile & { readonly rule: ThreadsIssuer })[] | undefined;
  readonly tokens: { readonly audience: string; readonly personTtlMs: number; readonly agentTtlMs: number };
  /** The policy of workspaces that have set none. */
  readonly policy: Policy;
}

/** The settings without a file. */
export const NO_FILE: FileConfig = {
  values: undefined,
  databaseUrl: undefined,
  migrateUrl: undefined,
  poolMax: undefined,
  issuers: undefined,
  tokens: { audience: AUDIENCE, personTtlMs: PERSON_TTL_MS, agentTtlMs: AGENT_TTL_MS },
  policy: DEFAULT_POLICY,
};

/**
 * Reads `threads.yaml` and the files that it names. The configuration must not be used if `findings` has a fault.
 * @throws as `openConfigFile`
 */
export function openConfig(path: string): { readonly config: FileConfig; readonly findings: Findings } {
  const { value, findings } = openConfigFile(path, threadsFile);
  const { database, auth, policy, runtime } = value;
  checkSigningKey(runtime.jwt_key, findings);
  if (runtime.kind === "bridge" && runtime.bridge_url === undefined) {
    findings.warning(["runtime", "kind"], "has no bridge_url: threads serve needs --bridge");
  }
  const config: FileConfig = {
    values: value,
    databaseUrl: urlIn(database.url_file, "url_file", findings),
    migrateUrl: urlIn(database.migrate_url_file, "migrate_url_file", findings),
    poolMax: database.pool_max,
    issuers: issuersOf(auth.jwt_public_keys, findings),
    tokens: { audience: auth.jwt_audience, personTtlMs: auth.jwt_max_ttl, agentTtlMs: auth.agent_max_ttl },
    policy: { ...DEFAULT_POLICY, ...policy },
  };
  return { config, findings };
}

/**
 * Reads a configuration file; without a path, returns `NO_FILE`.
 * @throws ConfigError with every fault, as `openConfigFile`
 */
export function usableConfig(path: string | undefined): FileConfig {
  if (path === undefined) return NO_FILE;
  const { config, findings } = openConfig(path);
  findings.assertUsable();
  return config;
}

/**
 * Reads a database URL from a file of its own, since it may hold a password. Undefined: no file, or one with a fault.
 */
function urlIn(path: string | undefined, key: string, findings: Findings): string | undefined {
  if (path === undefined) return undefined;
  const at = ["database", key];
  const url = findings.tried(at, () => readNamedFileSync(path).trim());
  if (url === undefined) return undefined;
  findings.checkPrivate(at, path);
  if (isDatabaseUrl(url)) return url;
  findings.fault(at, `${path} does not contain a URL that begins with postgres://`);
  return undefined;
}

/** Checks the key that signs the tokens for a bridge. */
function checkSigningKey(path: string | undefined, findings: Findings): void {
  if (path === undefined) return;
  const at = ["runtime", "jwt_key"];
  findings.tried(at, () => {
    signingKeyOf(readNamedFileSync(path), path);
    findings.checkPrivate(at, path);
  });
}

function issuersOf(keys: ThreadsValues["auth"]["jwt_public_keys"], findings: Findings): FileConfig["issuers"] {
  const seen = new Map<string, string>();
  return keys?.map(({ issuer, key_path: path, kind, workspaces, roles }, at) => {
    const key = ["auth", "jwt_public_keys", at];
    findings.tried([...key, "key_path"], () => publicKeysOf(readNamedFileSync(path), path));
    const rule = { issuer, kind, workspaces, roles };
    const rights = JSON.stringify([kind, workspaces, roles]);
    if ((seen.get(issuer) ?? rights) !== rights) {
      findings.fault([...key, "issuer"], "has other rights in an earlier entry: all keys of an issuer have the same");
    }
    seen.set(issuer, rights);
    return { path, rule };
  });
}
