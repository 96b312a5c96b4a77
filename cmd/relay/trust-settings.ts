import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type AuthConfig, openAuth } from "../../internal/auth/auth-config.ts";
import { DomainError, errorText } from "../../internal/base/errors.ts";
import type { ConfigFile } from "../../internal/config/config-file.ts";
import { readNamedFileSync } from "../../internal/files/named-file.ts";
import type { TrustOptions } from "../../internal/pki/trust.ts";
import type { AgentIssuer } from "../../internal/relay/door/agent-claims.ts";
import { MessageSigner, Signers } from "../../internal/relay/nats/signing.ts";
import type { ServeCommand } from "./config.ts";
import type { RelayValues } from "./schema.ts";

/** The settings that decide who is admitted as an agent. */
export interface TrustSettings {
  /** Undefined: plaintext. */
  readonly tls: { readonly dir: string; readonly trust: TrustOptions } | undefined;
  /** Undefined: no token is required. */
  readonly auth: AuthConfig | undefined;
  /** The destination of the audit log: a file, or `stderr`. `none`: plaintext without `audit.path`. */
  readonly audit: { readonly path: string } | "stderr" | "none";
}

/** Reads the trust settings. Reports settings that contradict each other as faults of the file. */
export function trustOf({ tlsDir }: ServeCommand, { value, findings, has }: ConfigFile<RelayValues>): TrustSettings {
  const { tls, auth, audit } = value;
  if (tlsDir === "") throw new DomainError("invalid", "--tls-dir takes the path of a folder");
  const dir = tlsDir === undefined ? tls.dir : resolve(tlsDir);
  if (dir === undefined && has(["tls", "crl_policy"])) {
    findings.fault(
      ["tls", "crl_policy"],
      "needs tls.dir or --tls-dir: without certificates, there is nothing to revoke",
    );
  }
  if (dir === undefined && auth !== undefined) {
    findings.fault(["auth"], "needs tls.dir or --tls-dir: a token is valid only with a certificate of its issuer");
  }
  return {
    tls: dir === undefined ? undefined : { dir, trust: { crlPolicyOf: tls.crl_policy } },
    auth: auth && authOf(auth, findings),
    audit: audit.path === undefined ? (dir === undefined ? "none" : "stderr") : { path: audit.path },
  };
}

function authOf(auth: NonNullable<RelayValues["auth"]>, findings: ConfigFile<RelayValues>["findings"]): AuthConfig {
  const config = openAuth(auth, ["auth"], findings);
  const keyFiles = config.keyFiles.map(({ path, rule }, i) => {
    const { sessions } = auth.jwt_public_keys[i] ?? {};
    const issuer: AgentIssuer = { ...rule, sessions };
    return { path, rule: issuer };
  });
  return { ...config, keyFiles };
}

export interface SigningSettings {
  /** Signs published messages; undefined: they are not signed. */
  readonly signer: MessageSigner | undefined;
  /** Messages need a signature of one of these; undefined: they need none. */
  readonly signers: Signers | undefined;
}

/** Reads the signing settings. Reports keys that cannot be used as faults of the file. */
export function signingOf(relayId: string, { value, findings }: ConfigFile<RelayValues>): SigningSettings {
  const { seed_file: seedFile, signers } = value.signing;
  if (seedFile !== undefined && existsSync(seedFile)) findings.checkPrivate(["signing", "seed_file"], seedFile);
  return {
    signer: findings.tried(["signing", "seed_file"], () => signerOf(relayId, value)),
    signers: signers && findings.tried(["signing", "signers"], () => new Signers(signers)),
  };
}

/** The configured signer; undefined: messages are not signed. @throws DomainError `invalid`, naming the file */
export function signerOf(relayId: string, { signing }: RelayValues): MessageSigner | undefined {
  const { name = relayId, seed_file: path } = signing;
  if (path === undefined) return undefined;
  const seed = readNamedFileSync(path);
  try {
    return new MessageSigner(name, seed);
  } catch (cause) {
    throw new DomainError("invalid", `${path}: ${errorText(cause)}`, { cause });
  }
}
