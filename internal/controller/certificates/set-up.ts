import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { LABELS, MANAGED_BY } from "../pods/names.ts";
import type { SetUpSecret } from "../pods/settings.ts";
import { type CaMaterial, readCaSecret } from "./ca-secret.ts";
import { newSessionsCa } from "./ca-successor.ts";
import type { ObservedSecret } from "./certificate-policies.ts";
import type { SecretContent, SecretOwner, SecretStore } from "./secret-store.ts";
import { publicHalf, type SecretFiles, wishedFiles } from "./wished-files.ts";

export interface SetUpDeps {
  readonly secrets: SecretStore;
  readonly clock: Clock;
}

/** The objects that a cluster needs before its first caller can call. */
export interface SetUpWish {
  readonly trustDomain: string;
  readonly ca: { readonly namespace: string; readonly secret: string };
  /** Namespace of all Secrets but the CA's. */
  readonly namespace: string;
  /** Secret with the public keys of issuers, `<issuer>.pub`: one for each client. */
  readonly issuersSecret: string;
  readonly files: readonly WishedSecret[];
}

/** A Secret of the set-up. */
export interface WishedSecret extends Pick<SetUpSecret, "name" | "content"> {
  /** The object with which the cluster deletes the Secret; undefined: none. */
  readonly owner?: SecretOwner | undefined;
}

type SetUpStep = "made" | "renewed" | "kept";

/** The result for each Secret; for `files`, by name. */
export interface SetUpReport {
  readonly ca: SetUpStep;
  readonly files: Readonly<Record<string, SetUpStep>>;
  readonly issuers: SetUpStep;
}

/**
 * Creates the CA, the files of clients and servers and the keys of tokens if they are missing. An existing CA is always
 * kept. A certificate that expires soon, was issued by another CA or lacks a name is reissued; keys of tokens and other
 * keys of the Secrets are kept. Overlapping or interrupted runs are completed by the next one.
 * @throws DomainError `precondition` for an existing Secret that is unusable; errors of the cluster's API
 */
export async function setUp(deps: SetUpDeps, wish: SetUpWish, signal: AbortSignal): Promise<SetUpReport> {
  const { material: ca, step } = await ensureCa(deps, wish, signal);
  const files: Record<string, SetUpStep> = {};
  const issuers: Record<string, string> = {};
  for (const secret of wish.files) {
    const { name, content } = secret;
    const place = { trustDomain: wish.trustDomain, ca, now: deps.clock.now() };
    const made = await ensureFiles(deps, wish.namespace, secret, place, signal);
    files[name] = made.step;
    if (content.type === "client") issuers[`${content.client}.pub`] = publicKeyIn(name, made.data);
  }
  return { ca: step, files, issuers: await ensureIssuers(deps, wish, issuers, signal) };
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
  { name, content, owner }: WishedSecret,
  place: { readonly trustDomain: string; readonly ca: CaMaterial; readonly now: number },
  signal: AbortSignal,
): Promise<{ readonly data: SecretFiles; readonly step: SetUpStep }> {
  const { isCurrent, make } = wishedFiles(content, place);
  const found = await secrets.get(namespace, name, signal);
  if (found !== undefined && isCurrent(found)) {
    const isOwned = owner === undefined || found.owners.some(({ uid }) => uid === owner.uid);
    if (!isOwned) await secrets.patch(namespace, name, {}, { ...found, owner }, signal);
    return { data: found.data, step: "kept" };
  }
  const data = await make(found);
  if (found !== undefined) {
    await secrets.patch(namespace, name, data, { ...found, owner }, signal);
    return { data, step: "renewed" };
  }
  const other = await createOrGet(secrets, namespace, { name, labels: OURS, data: present(data), owner }, signal);
  return other === undefined ? { data, step: "made" } : { data: other.data, step: "kept" };
}

function present(files: SecretFiles): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(files).flatMap(([key, text]) => (text === undefined ? [] : [[key, text]])));
}

async function ensureIssuers(
  { secrets }: SetUpDeps,
  { namespace, issuersSecret }: SetUpWish,
  keys: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<SetUpStep> {
  const found =
    (await secrets.get(namespace, issuersSecret, signal)) ??
    (await createOrGet(secrets, namespace, { name: issuersSecret, labels: OURS, data: keys }, signal));
  if (found === undefined) return "made";
  if (Object.entries(keys).every(([file, key]) => found.data[file] === key)) return "kept";
  await secrets.patch(namespace, issuersSecret, keys, found, signal);
  return "renewed";
}

/** Creates a Secret and returns undefined; if another run was faster, returns the Secret that the other run created. */
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

function publicKeyIn(secret: string, data: SecretFiles): string {
  const key = data["jwt.key"];
  if (key === undefined || key === "") {
    throw new DomainError("precondition", `the Secret ${secret} cannot be used: jwt.key is missing`);
  }
  return publicHalf(key, `jwt.key of the Secret ${secret}`);
}

const OURS = { [LABELS.managedBy]: MANAGED_BY };
