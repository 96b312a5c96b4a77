import type { X509Certificate } from "node:crypto";
import { z } from "zod";
import { block } from "../config/block.ts";
import type { KeyPath } from "../config/config-document.ts";
import type { Findings } from "../config/findings.ts";
import { duration, filePath, listOf, oneOf, text } from "../config/values.ts";
import { readNamedFileSync } from "../files/named-file.ts";
import { readPem } from "../pki/explain-pem.ts";
import { certificatesOf } from "../pki/pem.ts";
import type { CrlPolicy } from "../pki/trust.ts";
import { fingerprintOf, type IssuerRule } from "./issuing-cas.ts";
import { publicKeysOf, type TokenKeyFile } from "./token-key-files.ts";

/** The block `auth` of a configuration, and the files that it names. */
export interface AuthConfig {
  readonly keyFiles: readonly TokenKeyFile[];
  readonly audience: string;
  readonly maxTtlMs: number;
  readonly clockSkewMs: number;
}

/** The block `auth` as parsed, with absolute paths. */
export type AuthBlock = z.output<ReturnType<typeof authBlock>>;

/** A CA of an issuer: the SHA-256 of its certificate, or a file. */
type NamedCa = { readonly sha256: string } | { readonly path: string };

/**
 * The schema of the block `auth`, for `openAuth`. No key turns a check off.
 * @param audience the default of `jwt_audience`
 */
export function authBlock(folder: string, audience = "bridge") {
  return authBlockWith(folder, audience, {});
}

/** As `authBlock`, with `more` keys in each entry of `jwt_public_keys`, which the caller evaluates. */
export function authBlockWith<M extends z.ZodRawShape>(folder: string, audience: string, more: M) {
  const key = block({
    issuer: text(),
    key_path: filePath(folder),
    ca: casValue(folder).optional(),
    projects: listOf(text(), "a list of project names").min(1, "must name a project, or be omitted").optional(),
    ...more,
  });
  return block({
    jwt_public_keys: listOf(key, "a list of issuers' keys").min(
      1,
      "must have an entry: otherwise no token is accepted",
    ),
    jwt_audience: text().default(audience),
    jwt_max_ttl: duration("1s", "5m").default(300_000),
    clock_skew: duration("0s", "1m").default(30_000),
  });
}

/**
 * Reads the files that a block `auth` names. Faults go to `findings`; the result must not be used if there is one.
 * @param at the path of the block
 */
export function openAuth(auth: AuthBlock, at: KeyPath, findings: Findings): AuthConfig {
  const keyFiles = auth.jwt_public_keys.map(({ issuer, key_path: path, ca, projects }, i) => {
    const key = [...at, "jwt_public_keys", i];
    findings.tried([...key, "key_path"], () => publicKeysOf(readNamedFileSync(path), path));
    const cas = ca && (findings.tried([...key, "ca"], () => ca.flatMap(casOf)) ?? []);
    const rule: IssuerRule = { issuer, cas, projects };
    return { path, rule };
  });
  const { jwt_audience: audience, jwt_max_ttl: maxTtlMs, clock_skew: clockSkewMs } = auth;
  return { keyFiles, audience, maxTtlMs, clockSkewMs };
}

function casOf(ca: NamedCa): readonly (string | X509Certificate)[] {
  return "sha256" in ca ? [ca.sha256] : readPem(readNamedFileSync(ca.path), "certificate", ca.path, certificatesOf);
}

/** One CA, or a list of them. */
function casValue(folder: string) {
  const one = text().transform((value): NamedCa => {
    const sha256 = fingerprintIn(value);
    return sha256 === undefined ? { path: filePath(folder).parse(value) } : { sha256 };
  });
  const isGood = (values: unknown) => one.array().min(1).safeParse(values).success;
  return z
    .preprocess((value) => [value].flat(), z.array(z.unknown()))
    .refine(isGood, { error: "must be a file of certificates, the SHA-256 of one, or a list of these" })
    .pipe(one.array());
}

/**
 * The schema of `tls.crl_policy`: `require` or `if-present` for all CAs, or a policy for each by the SHA-256 of its
 * certificate, and `default` for the others. Default: `if-present`.
 */
export function crlPolicyValue() {
  const policy = oneOf("require", "if-present");
  const caName = z.string().refine((name) => name === "default" || fingerprintIn(name) !== undefined, {
    error: "must be default, or the SHA-256 of a certificate (64 hex digits)",
  });
  return z
    .union([policy, z.record(caName, policy)])
    .default("if-present")
    .transform((given) => {
      if (typeof given === "string") return () => given;
      const byCa = new Map(Object.entries(given).map(([name, one]) => [fingerprintIn(name), one]));
      const others = given["default"] ?? "if-present";
      return (issuer: X509Certificate): CrlPolicy => byCa.get(fingerprintOf(issuer)) ?? others;
    });
}

const FINGERPRINT = /^(?:[0-9a-f]{64}|[0-9a-f]{2}(?::[0-9a-f]{2}){31})$/i;

/** 64 lower-case hex digits; undefined for any text but a SHA-256. */
function fingerprintIn(text: string): string | undefined {
  const digits = text.replace(/^sha256:/i, "");
  return FINGERPRINT.test(digits) ? digits.replaceAll(":", "").toLowerCase() : undefined;
}
