import type { X509Certificate } from "node:crypto";
import { parseDurationMs } from "../base/duration.ts";
import { DomainError } from "../base/errors.ts";
import { certificatesOf } from "../pki/pem.ts";
import type { CrlPolicy } from "../pki/trust.ts";
import { fingerprintOf, type IssuerRule } from "./issuing-cas.ts";
import type { TokenKeyFile } from "./token-key-files.ts";
import { MAX_TOKEN_TTL_MS } from "./token-verifier.ts";

/** The block `auth` of a configuration. */
export interface AuthConfig {
  readonly keyFiles: readonly TokenKeyFile[];
  readonly audience: string;
  readonly maxTtlMs: number;
  readonly clockSkewMs: number;
}

type Block = Readonly<Record<string, unknown>>;

const MAX_SKEW_MS = 60_000;

/**
 * Reads the block `auth`. There is no key that turns a check off: whatever is not known here is an error.
 * @param readText the text of a file that the block names
 * @throws DomainError `invalid`, naming the key
 */
export function readAuthConfig(value: unknown, readText: (path: string) => string): AuthConfig {
  const auth = blockOf("auth", value, ["jwt_public_keys", "jwt_audience", "jwt_max_ttl", "clock_skew"]);
  const entries = auth["jwt_public_keys"];
  if (!Array.isArray(entries) || entries.length === 0) throw wrong("auth.jwt_public_keys", "a list of issuers' keys");
  return {
    keyFiles: entries.map((entry, i) => keyFileOf(`auth.jwt_public_keys[${i}]`, entry, readText)),
    audience: auth["jwt_audience"] === undefined ? "bridge" : textOf("auth.jwt_audience", auth["jwt_audience"]),
    maxTtlMs: durationOf("auth.jwt_max_ttl", auth["jwt_max_ttl"] ?? "5m", 1000, MAX_TOKEN_TTL_MS),
    clockSkewMs: durationOf("auth.clock_skew", auth["clock_skew"] ?? "30s", 0, MAX_SKEW_MS),
  };
}

/**
 * Reads `tls.crl_policy`: `require` or `if-present` for all CAs, or a policy for each by the SHA-256 of its
 * certificate, and `default` for the others. Default: `if-present`.
 * @throws DomainError `invalid`
 */
export function readCrlPolicy(value: unknown): (issuer: X509Certificate) => CrlPolicy {
  if (value === undefined || typeof value === "string") {
    const policy = policyOf("tls.crl_policy", value ?? "if-present");
    return () => policy;
  }
  const given = Object.entries(blockOf("tls.crl_policy", value));
  const policies = new Map(
    given.map(([ca, policy]) => [
      ca === "default" ? ca : fingerprintIn("tls.crl_policy", ca),
      policyOf(`tls.crl_policy.${ca}`, policy),
    ]),
  );
  const others = policies.get("default") ?? "if-present";
  return (issuer) => policies.get(fingerprintOf(issuer)) ?? others;
}

function policyOf(key: string, value: unknown): CrlPolicy {
  if (value === "require" || value === "if-present") return value;
  throw wrong(key, "require or if-present");
}

function keyFileOf(key: string, value: unknown, readText: (path: string) => string): TokenKeyFile {
  const { issuer, key_path: path, ca, projects } = blockOf(key, value, ["issuer", "key_path", "ca", "projects"]);
  const rule: IssuerRule = {
    issuer: textOf(`${key}.issuer`, issuer),
    ...(ca !== undefined && { cas: [ca].flat().flatMap((one) => casOf(`${key}.ca`, one, readText)) }),
    ...(projects !== undefined && { projects: textsOf(`${key}.projects`, projects) }),
  };
  return { path: textOf(`${key}.key_path`, path), rule };
}

/** A SHA-256, or the certificates of a file. */
function casOf(key: string, value: unknown, readText: (path: string) => string): readonly (string | X509Certificate)[] {
  const text = textOf(key, value);
  return isFingerprint(text) ? [fingerprintIn(key, text)] : certificatesOf(readText(text));
}

const FINGERPRINT = /^(?:sha256:)?[0-9a-f]{64}$/i;

function isFingerprint(text: string): boolean {
  return FINGERPRINT.test(text.replaceAll(/:(?=[0-9a-f]{2}(:|$))/gi, ""));
}

function fingerprintIn(key: string, text: string): string {
  if (!isFingerprint(text)) throw wrong(key, "the SHA-256 of a certificate (64 hex digits)");
  return text
    .replace(/^sha256:/i, "")
    .replaceAll(":", "")
    .toLowerCase();
}

function blockOf(key: string, value: unknown, known?: readonly string[]): Block {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(key, "a block of keys");
  const unknown = known && Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new DomainError("invalid", `unknown key ${key}.${unknown}`);
  return value as Block;
}

function textsOf(key: string, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.length > 0) return value.map((one) => textOf(key, one));
  throw wrong(key, "a list of names");
}

function textOf(key: string, value: unknown): string {
  if (typeof value === "string" && value !== "") return value;
  throw wrong(key, "a non-empty string");
}

function durationOf(key: string, value: unknown, least: number, most: number): number {
  const ms = parseDurationMs(textOf(key, value));
  if (ms >= least && ms <= most) return ms;
  throw wrong(key, `between ${least / 1000}s and ${most / 1000}s`);
}

function wrong(key: string, wanted: string): DomainError {
  return new DomainError("invalid", `${key} must be ${wanted}`);
}
