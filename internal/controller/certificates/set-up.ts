import { createPrivateKey, createPublicKey, type X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { newKeyPair, newTokenKeyPair, privateKeyPem, publicKeyPem } from "../../pki/key-pair.ts";
import { type LeafOptions, newLeaf } from "../../pki/leaf.ts";
import { certificatesOf } from "../../pki/pem.ts";
import { LABELS, MANAGED_BY } from "../pods/names.ts";
import { type CaMaterial, readCaSecret } from "./ca-secret.ts";
import { newSessionsCa } from "./ca-successor.ts";
import type { ObservedSecret } from "./certificate-policies.ts";
import type { SecretContent, SecretOwner, SecretStore } from "./secret-store.ts";
import { issuingTime } from "./session-certificate.ts";

export interface SetUpDeps {
  readonly secrets: SecretStore;
  readonly clock: Clock;
}

/** The objects that a cluster needs before its first caller can call. */
export interface SetUpWish {
  readonly trustDomain: string;
  readonly ca: { readonly namespace: string; readonly secret: string };
  /** Namespace of the client's Secrets. */
  readonly namespace: string;
  /** The first client's name in its certificate, and the issuer of its tokens. */
  readonly client: string;
  /** Secret with `tls.crt`, `tls.key`, `ca.crt` and `jwt.key`. */
  readonly clientSecret: string;
  /** Owner of the client's Secret, with which it is deleted; undefined: none. */
  readonly clientOwner?: SecretOwner;
  /** Secret with the public keys of issuers, `<issuer>.pub`. */
  readonly issuersSecret: string;
  /** The certificate of the relays' port; undefined: none. */
  readonly relay?: RelayWish;
}

interface RelayWish {
  /** Secret with `tls.crt`, `tls.key` and `ca.crt`, in the client's namespace. */
  readonly secret: string;
  /** Names and addresses, at least one. */
  readonly hosts: readonly string[];
  /** As `clientOwner`. */
  readonly owner?: SecretOwner;
}

type SetUpStep = "made" | "renewed" | "kept";

/** The result for each Secret. */
export interface SetUpReport {
  readonly ca: SetUpStep;
  readonly client: SetUpStep;
  readonly issuers: SetUpStep;
  readonly relay?: SetUpStep;
}

/** A certificate with its key in a Secret. */
interface WishedFiles {
  readonly secret: string;
  readonly owner: SecretOwner | undefined;
  isCurrent(found: ObservedSecret): boolean;
  make(found: ObservedSecret | undefined): Promise<Files>;
}

type Files = Readonly<Record<string, string>>;

const LEAF_DAYS = 90;
/** The share of a certificate's lifetime after which it is renewed. */
const RENEW_AFTER = 2 / 3;

/**
 * Creates the CA, the first client's certificate, the key of its tokens and the relays' certificate if they are
 * missing. An existing CA is always kept. A certificate that expires soon, was issued by another CA or lacks a name is
 * reissued; the client's token key and other keys of the Secrets are kept. Overlapping or interrupted runs are
 * completed by the next one.
 * @throws DomainError `precondition` for an existing Secret that is unusable; errors of the cluster's API
 */
export async function setUp(deps: SetUpDeps, wish: SetUpWish, signal: AbortSignal): Promise<SetUpReport> {
  const { material, step } = await ensureCa(deps, wish, signal);
  const client = await ensureFiles(deps, wish.namespace, clientFiles(wish, material, deps.clock), signal);
  const issuers = await ensureIssuer(deps, wish, jwtKeyOf(wish.clientSecret, client.data), signal);
  const report = { ca: step, client: client.step, issuers };
  if (wish.relay === undefined) return report;
  const files = relayFiles(wish.relay, material, deps.clock);
  return { ...report, relay: (await ensureFiles(deps, wish.namespace, files, signal)).step };
}

async function ensureCa({ secrets, clock }: SetUpDeps, { ca, trustDomain }: SetUpWish, signal: AbortSignal) {
  const found = await secrets.get(ca.namespace, ca.secret, signal);
  if (found !== undefined) return { material: readCaSecret(found.data, clock.now()), step: "kept" as const };
  const { cert, key } = await newSessionsCa(trustDomain, clock.now());
  const data = { "ca.crt": cert, "ca.key": key };
  const made = await createOrGet(secrets, ca.namespace, { name: ca.secret, labels: OURS, data }, signal);
  const material = readCaSecret(made?.data ?? data, clock.now());
  return { material, step: made === undefined ? ("made" as const) : ("kept" as const) };
}

async function ensureFiles(
  { secrets }: SetUpDeps,
  namespace: string,
  { secret, owner, isCurrent, make }: WishedFiles,
  signal: AbortSignal,
): Promise<{ readonly data: Files; readonly step: SetUpStep }> {
  const found = await secrets.get(namespace, secret, signal);
  if (found !== undefined && isCurrent(found)) {
    const isOwned = owner === undefined || found.owners.some(({ uid }) => uid === owner.uid);
    if (!isOwned) await secrets.patch(namespace, secret, {}, { ...found, owner }, signal);
    return { data: found.data, step: "kept" };
  }
  const data = await make(found);
  if (found !== undefined) {
    await secrets.patch(namespace, secret, data, { ...found, ...(owner && { owner }) }, signal);
    return { data, step: "renewed" };
  }
  const content = { name: secret, labels: OURS, data, ...(owner && { owner }) };
  const other = await createOrGet(secrets, namespace, content, signal);
  return other === undefined ? { data, step: "made" } : { data: other.data, step: "kept" };
}

function clientFiles(wish: SetUpWish, ca: CaMaterial, clock: Clock): WishedFiles {
  const { client, trustDomain } = wish;
  return {
    secret: wish.clientSecret,
    owner: wish.clientOwner,
    isCurrent: (found) => currentLeaf(found, ca, clock.now()) !== undefined && Boolean(found.data["jwt.key"]),
    make: async (found) => {
      const jwtKey = found?.data["jwt.key"] ?? privateKeyPem((await newTokenKeyPair()).privateKey);
      const leaf = { type: "client", name: client, hosts: [], trustDomain } as const;
      return { ...(await newFiles(leaf, ca, clock.now())), "jwt.key": jwtKey };
    },
  };
}

function relayFiles({ secret, owner, hosts }: RelayWish, ca: CaMaterial, clock: Clock): WishedFiles {
  const [name = "localhost", ...others] = hosts;
  return {
    ...{ secret, owner },
    isCurrent: (found) => {
      const leaf = currentLeaf(found, ca, clock.now());
      return leaf !== undefined && hosts.every((host) => isNamed(leaf, host));
    },
    make: async () => await newFiles({ type: "server", name, hosts: others, trustDomain: undefined }, ca, clock.now()),
  };
}

async function newFiles(
  leaf: Pick<LeafOptions, "type" | "name" | "hosts" | "trustDomain">,
  ca: CaMaterial,
  now: number,
): Promise<Files> {
  const keys = await newKeyPair("ecdsa-p384");
  const options = { uris: [], namespace: "", crlUrl: undefined, days: LEAF_DAYS, now: issuingTime(now), ...leaf };
  const pem = newLeaf(options, keys.publicKey, ca.signer);
  return { "tls.crt": `${pem}${ca.chain}`, "tls.key": privateKeyPem(keys.privateKey), "ca.crt": ca.bundle };
}

async function ensureIssuer(
  { secrets }: SetUpDeps,
  { namespace, issuersSecret, client }: SetUpWish,
  jwtKey: string,
  signal: AbortSignal,
): Promise<SetUpStep> {
  const entry = { [`${client}.pub`]: publicKeyPem(createPublicKey(createPrivateKey(jwtKey))) };
  const found =
    (await secrets.get(namespace, issuersSecret, signal)) ??
    (await createOrGet(secrets, namespace, { name: issuersSecret, labels: OURS, data: entry }, signal));
  if (found === undefined) return "made";
  if (found.data[`${client}.pub`] === entry[`${client}.pub`]) return "kept";
  await secrets.patch(namespace, issuersSecret, entry, found, signal);
  return "renewed";
}

/** Creates a Secret and returns undefined, or returns the existing one if another run was faster. */
async function createOrGet(
  secrets: SecretStore,
  namespace: string,
  content: SecretContent,
  signal: AbortSignal,
): Promise<ObservedSecret | undefined> {
  try {
    await secrets.create(namespace, content, signal);
    return undefined;
  } catch (err) {
    if (!(err instanceof DomainError) || err.kind !== "already-exists") throw err;
    const found = await secrets.get(namespace, content.name, signal);
    if (found === undefined) throw err;
    return found;
  }
}

/** The certificate of a Secret whose files fit each other and the CA and need no renewal yet, else undefined. */
function currentLeaf({ data }: ObservedSecret, ca: CaMaterial, now: number): X509Certificate | undefined {
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

function jwtKeyOf(secret: string, data: Files): string {
  const key = data["jwt.key"];
  if (key !== undefined && key !== "") return key;
  throw new DomainError("precondition", `the Secret ${secret} cannot be used: jwt.key is missing`);
}

const OURS = { [LABELS.managedBy]: MANAGED_BY };
