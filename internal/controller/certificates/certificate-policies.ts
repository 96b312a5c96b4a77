import { createPrivateKey, type X509Certificate } from "node:crypto";
import { isIssuedBy } from "../../pki/authority.ts";
import { firstCertificateOf } from "../../pki/pem.ts";
import { adoptedSecretName, LABELS, labelValue, MANAGED_BY } from "../pods/names.ts";
import { type IssuingCa, isCertificateOf, renewalTime, type SessionIdentity } from "./session-certificate.ts";

/** A Secret as it is in the cluster. */
export interface ObservedSecret {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly owners: readonly { readonly kind: string; readonly name: string; readonly uid: string }[];
  readonly deleting: boolean;
  /** Its content cannot be changed: it is immutable, or of another type than ours. */
  readonly fixed?: boolean;
  /** Decoded. */
  readonly data: Readonly<Record<string, string>>;
}

/** A session's pod, its Secret, and what the Secret should hold. */
export interface CertificateCase {
  readonly identity: SessionIdentity;
  readonly pod: { readonly name: string; readonly uid: string };
  /** Undefined: there is none of that name. */
  readonly secret: ObservedSecret | undefined;
  readonly ca: IssuingCa;
  /** Wall clock, ms. */
  readonly now: number;
}

/** What to do about a Secret. */
export type CertificateAction =
  /** Nothing to do until the certificate is due for renewal (wall clock, ms); Infinity: it ends with its CA. */
  | { readonly type: "keep"; readonly renewAt: number }
  /** Write a new key and certificate. */
  | { readonly type: "issue"; readonly why: string }
  /** Write the CAs and lists of today beside the certificate that is there. */
  | { readonly type: "refresh"; readonly why: string }
  /** Delete it and begin again: it is of a pod of that name that is gone, or cannot be written. */
  | { readonly type: "recreate"; readonly why: string }
  /** Touch nothing: a foreign Secret has the name. */
  | { readonly type: "refuse"; readonly why: string }
  /** It is being deleted: look again when it is gone. */
  | { readonly type: "wait"; readonly why: string };

/** The input of a policy; `leaf` if the Secret has one. */
interface Facts extends CertificateCase {
  readonly secret: ObservedSecret;
  readonly leaf: X509Certificate | undefined;
}

/** A Secret that is there and the pod that it should belong to. */
type Place = Pick<Facts, "secret"> & { readonly pod: { readonly name: string; readonly uid: string } };

/** One reason to act, or undefined. Later policies rely on what earlier ones have ruled out. */
interface Policy<F = Facts> {
  readonly name: string;
  readonly check: (facts: F) => CertificateAction | undefined;
}

/**
 * Decides what becomes of a session's Secret. The first policy that objects decides; `why` is its name, for logs,
 * events and metrics. Calling it again after the action was taken gives `keep`.
 */
export function certificateAction(one: CertificateCase): CertificateAction {
  if (one.secret === undefined) return { type: "issue", why: "secret-absent" };
  const facts: Facts = { ...one, secret: one.secret, leaf: leafOf(one.secret) };
  for (const { check } of POLICIES) {
    const action = check(facts);
    if (action !== undefined) return action;
  }
  return { type: "keep", renewAt: facts.leaf === undefined ? one.now : renewalTime(facts.leaf, one.ca) };
}

/**
 * What is wrong with a Secret of that name whatever it holds: `wait`, `refuse` or `recreate`; undefined: it is this
 * pod's.
 */
export function placeAction(place: Place): CertificateAction | undefined {
  for (const { check } of PLACE_POLICIES) {
    const action = check(place);
    if (action !== undefined) return action;
  }
  return undefined;
}

const PLACE_POLICIES: readonly Policy<Place>[] = [
  // Garbage collection or a person deletes it: a write would be lost with it.
  policy("being-deleted", ({ secret }) => (secret.deleting ? "wait" : undefined)),

  // Without our label and our pod as its owner someone else made it, whatever its name: it may hold what pods of theirs
  // need.
  policy("not-ours", ({ secret, pod }) => (isLabelled(secret) || isOwnedBy(secret, pod) ? undefined : "refuse")),

  // The pod before this one had the same name; its garbage has not been collected yet.
  policy("other-owner", ({ secret, pod }) => {
    if (isOwnedBy(secret, pod)) return undefined;
    return secret.owners.every(({ kind, name }) => kind === "Pod" && name === pod.name) ? "recreate" : "refuse";
  }),

  // Someone made it immutable, or made it for this pod with another type: every write would be refused.
  policy("fixed", ({ secret }) => (secret.fixed ? "recreate" : undefined)),
];

const POLICIES: readonly Policy[] = [
  // Adopted pods of one session share its Secret's name: the one before this has ended and stays, e.g. evicted.
  policy("pod-replaced", ({ secret, pod, identity }) => {
    if (secret.deleting || secret.fixed || !isLabelled(secret) || isOwnedBy(secret, pod)) return undefined;
    const isTheirs = secret.labels[LABELS.session] === labelValue(identity.sessionId);
    const isShared = isTheirs && secret.name === adoptedSecretName(identity.sessionId, pod.uid);
    return isShared && secret.owners.every(({ kind }) => kind === "Pod") ? "issue" : undefined;
  }),

  ...PLACE_POLICIES,

  // A key was deleted or emptied, or the certificate cannot be read.
  policy("data-missing", ({ secret, leaf }) => (leaf === undefined || !secret.data["tls.key"] ? "issue" : undefined)),

  // Half of a change by hand: the key is another certificate's.
  policy("pair-mismatch", ({ secret, leaf }) => (isPair(leaf, secret.data["tls.key"]) ? undefined : "issue")),

  // The CA was replaced: new certificates come from the new one, before the old one leaves the bundle.
  policy("wrong-issuer", ({ leaf, ca }) => (leaf && isIssuedBy(leaf, ca.signer.certificate) ? undefined : "issue")),

  // Another session's certificate, one with more names, or one that may call: the sidecar or its callers would refuse
  // it.
  policy("wrong-names", ({ leaf, identity }) => (leaf && isCertificateOf(leaf, identity) ? undefined : "issue")),

  // Issued by a clock that was ahead.
  policy("not-yet-valid", ({ leaf, now }) => (leaf && leaf.validFromDate.getTime() > now ? "issue" : undefined)),

  // Half of its life is over; an expired one too.
  policy("renewal-due", ({ leaf, ca, now }) => (leaf && renewalTime(leaf, ca) <= now ? "issue" : undefined)),

  // The CAs that the sidecar's callers may come from have changed.
  policy("bundle-stale", ({ secret, ca }) => (secret.data["ca.crt"] === ca.bundle ? undefined : "refresh")),

  // Someone was revoked, or the list was renewed.
  policy("list-stale", ({ secret, ca }) => (secret.data["crl.pem"] === ca.crl ? undefined : "refresh")),

  // A label was changed by hand: the watch, and who looks for what is ours, would pass it by.
  policy("labels-changed", ({ secret, identity }) =>
    isLabelled(secret) && secret.labels[LABELS.session] === labelValue(identity.sessionId) ? undefined : "refresh",
  ),
];

/**
 * The names of the policies, in their order; `secret-absent` comes before them.
 * @internal
 */
export const POLICY_NAMES: readonly string[] = POLICIES.map(({ name }) => name);

function policy<F>(
  name: string,
  check: (facts: F) => Exclude<CertificateAction["type"], "keep"> | undefined,
): Policy<F> {
  return {
    name,
    check: (facts) => {
      const type = check(facts);
      return type && { type, why: name };
    },
  };
}

function isLabelled({ labels }: ObservedSecret): boolean {
  return labels[LABELS.managedBy] === MANAGED_BY;
}

function isOwnedBy({ owners }: ObservedSecret, pod: CertificateCase["pod"]): boolean {
  return owners.some(({ kind, uid }) => kind === "Pod" && uid === pod.uid);
}

function leafOf({ data }: ObservedSecret): X509Certificate | undefined {
  try {
    return firstCertificateOf(data["tls.crt"] ?? "");
  } catch {
    return undefined;
  }
}

function isPair(leaf: X509Certificate | undefined, key: string | undefined): boolean {
  try {
    return leaf?.checkPrivateKey(createPrivateKey(key ?? "")) ?? false;
  } catch {
    return false;
  }
}
