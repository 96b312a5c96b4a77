import { createPrivateKey, createPublicKey } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { newKeyPair, newTokenKeyPair, privateKeyPem, publicKeyPem } from "../../pki/key-pair.ts";
import { newLeaf } from "../../pki/leaf.ts";
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
}

type SetUpStep = "made" | "renewed" | "kept";

/** The result for each Secret. */
export interface SetUpReport {
  readonly ca: SetUpStep;
  readonly client: SetUpStep;
  readonly issuers: SetUpStep;
}

const CLIENT_DAYS = 90;
/** The share of a client certificate's lifetime after which it is renewed. */
const RENEW_AFTER = 2 / 3;

/**
 * Creates the CA, the first client's certificate and the key of its tokens if they are missing. An existing CA is
 * always kept. A client's certificate that expires soon or was issued by another CA is reissued; its token key and
 * other keys of its Secret are kept. Overlapping or interrupted runs are completed by the next one.
 * @throws DomainError `precondition` for an existing Secret that is unusable; errors of the cluster's API
 */
export async function setUp(deps: SetUpDeps, wish: SetUpWish, signal: AbortSignal): Promise<SetUpReport> {
  const { material, step } = await ensureCa(deps, wish, signal);
  const client = await ensureClient(deps, wish, material, signal);
  const issuers = await ensureIssuer(deps, wish, client.jwtKey, signal);
  return { ca: step, client: client.step, issuers };
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

async function ensureClient(
  { secrets, clock }: SetUpDeps,
  wish: SetUpWish,
  ca: CaMaterial,
  signal: AbortSignal,
): Promise<{ readonly jwtKey: string; readonly step: SetUpStep }> {
  const { namespace, clientSecret, clientOwner: owner } = wish;
  const found = await secrets.get(namespace, clientSecret, signal);
  if (found !== undefined && isClientCurrent(found, ca, clock.now())) {
    const isOwned = owner === undefined || found.owners.some(({ uid }) => uid === owner.uid);
    if (!isOwned) await secrets.patch(namespace, clientSecret, {}, { ...found, owner }, signal);
    return { jwtKey: jwtKeyOf(found), step: "kept" };
  }
  const jwtKey = found?.data["jwt.key"] ?? privateKeyPem((await newTokenKeyPair()).privateKey);
  const data = { ...(await newClient(wish, ca, clock.now())), "jwt.key": jwtKey };
  if (found !== undefined) {
    await secrets.patch(namespace, clientSecret, data, { ...found, ...(owner && { owner }) }, signal);
    return { jwtKey, step: "renewed" };
  }
  const content = { name: clientSecret, labels: OURS, data, ...(owner && { owner }) };
  const other = await createOrGet(secrets, namespace, content, signal);
  return other === undefined ? { jwtKey, step: "made" } : { jwtKey: jwtKeyOf(other), step: "kept" };
}

async function newClient({ client, trustDomain }: SetUpWish, ca: CaMaterial, now: number) {
  const keys = await newKeyPair("ecdsa-p384");
  const names = { name: client, hosts: [], uris: [], trustDomain, namespace: "" };
  const options = { type: "client", ...names, crlUrl: undefined, days: CLIENT_DAYS, now: issuingTime(now) } as const;
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

function isClientCurrent({ data }: ObservedSecret, ca: CaMaterial, now: number): boolean {
  try {
    const [leaf] = certificatesOf(data["tls.crt"] ?? "");
    const [start, end] = [leaf.validFromDate.getTime(), leaf.validToDate.getTime()];
    const isPair = leaf.checkPrivateKey(createPrivateKey(data["tls.key"] ?? ""));
    const isOurs = leaf.verify(ca.signer.certificate.publicKey);
    return (
      isPair &&
      isOurs &&
      now < start + (end - start) * RENEW_AFTER &&
      data["ca.crt"] === ca.bundle &&
      Boolean(data["jwt.key"])
    );
  } catch {
    return false;
  }
}

function jwtKeyOf({ name, data }: ObservedSecret): string {
  const key = data["jwt.key"];
  if (key !== undefined && key !== "") return key;
  throw new DomainError("precondition", `the Secret ${name} cannot be used: jwt.key is missing`);
}

const OURS = { [LABELS.managedBy]: MANAGED_BY };
