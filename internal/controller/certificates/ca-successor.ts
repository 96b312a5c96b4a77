import { createPrivateKey } from "node:crypto";
import { checkSigner, newAuthority } from "../../pki/authority.ts";
import { factsOf } from "../../pki/certificate-facts.ts";
import { readPem } from "../../pki/explain-pem.ts";
import { newKeyPair, privateKeyPem } from "../../pki/key-pair.ts";
import { certificatesOf } from "../../pki/pem.ts";
import { signSuccessor } from "../../pki/successor.ts";
import { startRotation } from "./ca-rotation.ts";
import { afterStep, type CaSecretData, caId, readCaSecret } from "./ca-secret.ts";
import { issuingTime } from "./session-certificate.ts";

const CA_DAYS = 3650;
const MAX_COMMON_NAME = 64;

/** A CA for sessions, PEM. Its name contains date and time, so that no two CAs of a trust domain have the same name. */
export async function newSessionsCa(
  trustDomain: string,
  now: number,
): Promise<{ readonly cert: string; readonly key: string }> {
  const keys = await newKeyPair("ecdsa-p384");
  const made = new Date(now).toISOString().replace(/\D/g, "").slice(0, 14);
  const name = `gastown ${made} ${trustDomain}`.slice(0, MAX_COMMON_NAME);
  const cert = newAuthority(keys, { name, trustDomain, days: CA_DAYS, now: issuingTime(now) });
  return { cert, key: privateKeyPem(keys.privateKey) };
}

/**
 * Begins the replacement of the CA in the Secret's data: by the CA in `next.crt` and `next.key` if given, otherwise by
 * a new one. While a replacement is in progress the data is returned unchanged.
 * @param now wall clock, ms
 * @throws DomainError `precondition` for an unusable Secret, `invalid` for an unreadable `next.crt` or `next.key`,
 * `denied` for a CA in `next.crt` that cannot sign
 */
export async function introduceSuccessor(
  data: CaSecretData,
  { trustDomain, now }: { readonly trustDomain: string; readonly now: number },
): Promise<CaSecretData> {
  const { state, signer } = readCaSecret(data, now);
  if (state.type !== "steady") return data;
  const isGiven = Boolean(data["next.crt"] && data["next.key"]);
  const { cert, key } = isGiven
    ? { cert: data["next.crt"] ?? "", key: data["next.key"] ?? "" }
    : await newSessionsCa(trustDomain, now);
  const [certificate] = certificatesOf(cert);
  checkSigner({ certificate, key: readPem(key, "key", "next.key", createPrivateKey) }, now, "next.crt");
  const next = {
    ...data,
    "next.crt": cert,
    "next.key": key,
    "chain.crt": signSuccessor(certificate, signer, issuingTime(now)),
  };
  // A CA with path length 0 may not sign a CA, so there is no chain: peers that trust only this CA will not trust the
  // next.
  if (factsOf(signer.certificate).pathLength === 0) next["chain.crt"] = "";
  return afterStep(next, startRotation(state, caId(certificate)));
}
