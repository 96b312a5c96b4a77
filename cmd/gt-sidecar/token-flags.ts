import { resolve } from "node:path";
import { checkIssuers } from "../../internal/auth/issuing-cas.ts";
import { publicKeysOf, type TokenKeyFile } from "../../internal/auth/token-key-files.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { readNamedFileSync } from "../../internal/files/named-file.ts";
import { readPem } from "../../internal/pki/explain-pem.ts";
import { certificatesOf } from "../../internal/pki/pem.ts";

export interface TokenFlags {
  readonly keyFiles: readonly TokenKeyFile[];
  readonly audience: string;
}

/**
 * Reads `--jwt-key ISSUER=FILE` and `--jwt-audience`; undefined without keys.
 * @throws DomainError `invalid`, naming the flag
 */
export function readTokenFlags(
  keys: readonly string[] | undefined,
  audience: string | undefined,
  place: { readonly tlsDir: string | undefined; readonly half: "both" | "supervise" | "serve" },
): TokenFlags | undefined {
  if (keys === undefined || keys.length === 0) {
    if (audience === undefined) return undefined;
    throw new DomainError("invalid", "--jwt-audience needs --jwt-key: without keys no token is accepted");
  }
  const keyFiles = keys.map(keyFileOf);
  if (place.half !== "supervise" && place.tlsDir === undefined) {
    throw new DomainError(
      "invalid",
      "--jwt-key needs --tls-dir: a token is valid only with a certificate of its issuer",
    );
  }
  if (place.half === "both" && place.tlsDir !== undefined) checkKeys(keyFiles, place.tlsDir);
  return { keyFiles, audience: audience ?? "gt-sidecar" };
}

function keyFileOf(text: string): TokenKeyFile {
  const at = text.indexOf("=");
  const [issuer, path] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1 || path === "") {
    throw new DomainError("invalid", `--jwt-key takes ISSUER=FILE, not ${JSON.stringify(text)}`, {
      fields: { hint: "FILE contains the issuer's public Ed25519 key as PEM" },
    });
  }
  return { path: resolve(path), rule: { issuer } };
}

/** Checks now what would fail later in the start. */
function checkKeys(keyFiles: readonly TokenKeyFile[], tlsDir: string): void {
  for (const { path } of keyFiles) publicKeysOf(readNamedFileSync(path), path);
  const ca = resolve(tlsDir, "ca.crt");
  checkIssuers(
    keyFiles.map(({ rule }) => rule),
    readPem(readNamedFileSync(ca), "certificate", ca, certificatesOf),
  );
}
