import { createPrivateKey, createPublicKey, type X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { readPem } from "../../pki/explain-pem.ts";
import { newKeyPair, newTokenKeyPair, privateKeyPem, publicKeyPem } from "../../pki/key-pair.ts";
import { type LeafOptions, newLeaf } from "../../pki/leaf.ts";
import { certificatesOf } from "../../pki/pem.ts";
import type { SetUpSecret } from "../pods/settings.ts";
import type { ObservedSecret } from "./certificate-policies.ts";
import { type IssuingCa, issuingTime } from "./session-certificate.ts";

/** The keys of a Secret; undefined: the key is not in it. */
export type SecretFiles = Readonly<Record<string, string | undefined>>;

/** The desired content of a Secret of the set-up. */
export interface WishedFiles {
  isCurrent(found: ObservedSecret): boolean;
  /** Keys of the existing Secret that are not in the result stay. */
  make(found: ObservedSecret | undefined): Promise<SecretFiles>;
}

interface FilesPlace {
  readonly trustDomain: string;
  readonly ca: IssuingCa;
  /** Wall clock, ms. */
  readonly now: number;
}

const LEAF_DAYS = 90;
/** The share of a certificate's lifetime after which it is renewed. */
const RENEW_AFTER = 2 / 3;

/**
 * The files of a Secret of the set-up. Of a client: `tls.crt`, `tls.key`, `ca.crt`, and `jwt.key`, which signs its
 * tokens. Of a server: `tls.crt`, `tls.key`, `ca.crt`, and `crl.pem` if the CA has revocation lists. Of the key of
 * agents' tokens: `signing.key` and `signing.pub`.
 *
 * A certificate that expires within a month, was issued by another CA or lacks a name is not current; keys of tokens
 * stay.
 */
export function wishedFiles(content: SetUpSecret["content"], place: FilesPlace): WishedFiles {
  switch (content.type) {
    case "client":
      return clientFiles(content.client, place);
    case "server":
      return serverFiles(content.hosts, place);
    case "token-key":
      return tokenKeyFiles;
  }
}

function clientFiles(name: string, place: FilesPlace): WishedFiles {
  return {
    isCurrent: (found) => currentLeaf(found, place) !== undefined && Boolean(found.data["jwt.key"]),
    make: async (found) => {
      const jwtKey = found?.data["jwt.key"] ?? privateKeyPem((await newTokenKeyPair()).privateKey);
      const leaf = { type: "client", name, hosts: [], trustDomain: place.trustDomain } as const;
      return { ...(await newFiles(leaf, place)), "jwt.key": jwtKey };
    },
  };
}

function serverFiles(hosts: readonly string[], place: FilesPlace): WishedFiles {
  const [name = "localhost", ...others] = hosts;
  const { crl } = place.ca;
  return {
    isCurrent: (found) => {
      const leaf = currentLeaf(found, place);
      return leaf !== undefined && found.data["crl.pem"] === crl && hosts.every((host) => isNamed(leaf, host));
    },
    make: async () => ({
      ...(await newFiles({ type: "server", name, hosts: others, trustDomain: undefined }, place)),
      "crl.pem": crl,
    }),
  };
}

const tokenKeyFiles: WishedFiles = {
  isCurrent: ({ data }) => Boolean(data["signing.key"] && data["signing.pub"]),
  make: async (found) => {
    const key = found?.data["signing.key"] || privateKeyPem((await newTokenKeyPair()).privateKey);
    return { "signing.key": key, "signing.pub": publicHalf(key, "signing.key of the agents' tokens") };
  },
};

/** The public key of a private key, both PEM. `name`: for the error. @throws DomainError `invalid` */
export function publicHalf(key: string, name: string): string {
  return publicKeyPem(createPublicKey(readPem(key, "key", name, createPrivateKey)));
}

async function newFiles(
  leaf: Pick<LeafOptions, "type" | "name" | "hosts" | "trustDomain">,
  { ca, now }: FilesPlace,
): Promise<SecretFiles> {
  const keys = await newKeyPair("ecdsa-p384");
  const options = { uris: [], namespace: "", crlUrl: undefined, days: LEAF_DAYS, now: issuingTime(now), ...leaf };
  const pem = newLeaf(options, keys.publicKey, ca.signer);
  return { "tls.crt": `${pem}${ca.chain}`, "tls.key": privateKeyPem(keys.privateKey), "ca.crt": ca.bundle };
}

/** The Secret's certificate; undefined unless its files fit each other and the CA, and need no renewal yet. */
function currentLeaf({ data }: ObservedSecret, { ca, now }: FilesPlace): X509Certificate | undefined {
  try {
    const [leaf] = certificatesOf(data["tls.crt"] ?? "");
    const [start, end] = [leaf.validFromDate.getTime(), leaf.validToDate.getTime()];
    const isPair = leaf.checkPrivateKey(createPrivateKey(data["tls.key"] ?? ""));
    const isOurs = leaf.verify(ca.signer.certificate.publicKey) && data["ca.crt"] === ca.bundle;
    return isPair && isOurs && now < start + (end - start) * RENEW_AFTER ? leaf : undefined;
  } catch {
    return undefined;
  }
}

function isNamed(leaf: X509Certificate, host: string): boolean {
  if (isIP(host) !== 0) return leaf.checkIP(host) !== undefined;
  return leaf.subjectAltName?.split(", ").includes(`DNS:${host}`) ?? false;
}
