import { createPrivateKey, type X509Certificate } from "node:crypto";
import { isIssuedBy } from "../../pki/authority.ts";
import { firstCertificateOf } from "../../pki/pem.ts";
import { adoptedSecretName, LABELS, labelValue, MANAGED_BY } from "../pods/names.ts";
import { type IssuingCa, isCertificateOf, renewalTime, type SessionIdentity } from "./session-certificate.ts";

/** A Secret as observed in the cluster. */
export interface ObservedSecret {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly owners: readonly { readonly kind: string; readonly name: string; readonly uid: string }[];
  readonly deleting: boolean;
  /** The content cannot be changed: the Secret is immutable, or of another type than ours. */
  readonly fixed?: boolean;
  /** Decoded. */
  readonly data: Readonly<Record<string, string>>;
}

/** A session's pod, its Secret, and the inputs for the desired Secret. */
export interface CertificateCase {
  readonly identity: SessionIdentity;
  readonly pod: { readonly name: string; readonly uid: string };
  /** Undefined: no Secret has the name. */
  readonly secret: ObservedSecret | undefined;
  readonly ca: IssuingCa;
  /** Wall clock, ms. */
  readonly now: number;
}

/** The action for a Secret. */
export type CertificateAction =
  /**
   * Nothing, until the certificate is due for renewal (wall clock, ms). Infinity: the certificate expires with its CA.
   */
  | { readonly type: "keep"; readonly renewAt: number }
  /** Write a new key and certificate. */
  | { readonly type: "issue"; readonly why: string }
  /** Update the CAs and lists; the certificate stays. */
  | { readonly type: "refresh"; readonly why: string }
  /** Delete the Secret and begin again: it belongs to an earlier pod of that name, or cannot be written. */
  | { readonly type: "recreate"; readonly why: string }
  /** Touch nothing: the name is taken by a Secret that is not ours. */
  | { readonly type: "refuse"; readonly why: string }
  /** Wait: the Secret is being deleted. */
  | { readonly type: "wait"; readonly why: string };

/** The input of a policy; `leaf` is undefined if the Secret has no readable certificate. */
interface Facts extends CertificateCase {
  readonly secret: ObservedSecret;
  readonly leaf: X509Certificate | undefined;
}

/** An existing Secret and the pod to which it should belong. */
type Place = Pick<Facts, "secret"> & { readonly pod: { readonly name: string; readonly uid: string } };

/** Returns an action, or undefined. Later policies rely on what earlier ones have ruled out. */
interface Policy<F = Facts> {
  readonly name: string;
  readonly check: (facts: F) => CertificateAction | undefined;
}

/**
 * Decides the action for a session's Secret: that of the first policy that returns one. `why` is the policy's name, for
 * logs, events and metrics. After the action was taken, the result is `keep`.
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
 * The action if a Secret is unusable whatever it contains: `wait`, `refuse` or `recreate`; undefined: it belongs to the
 * pod.
 */
export function placeAction(place: Place): CertificateAction | undefined {
  for (const { check } of PLACE_POLICIES) {
    const action = check(place);
    if (action !== undefined) return action;
  }
  return undefined;
}

const PLACE_POLICIES: readonly Policy<Place>[] = [
  // Garbage collection or a person is deleting it: a write would be lost.
  policy("being-deleted", ({ secret }) => (secret.deleting ? "wait" : undefined)),

  // Without our label and our pod as its owner, it was made by someone else, whatever its name: their pods may need it.
  policy("not-ours", ({ secret, pod }) => (isLabelled(secret) || isOwnedBy(secret, pod) ? undefined : "refuse")),

  // It belongs to an earlier pod of the same name, and has not been garbage-collected yet.
  policy("other-owner", ({ secret, pod }) => {
    if (isOwnedBy(secret, pod)) return undefined;
    return secret.owners.every(({ kind, name }) => kind === "Pod" && name === pod.name) ? "recreate" : "refuse";
  }),

  // It was made immutable, or made for this pod with another type: every write would be refused.
  policy("fixed", ({ secret }) => (secret.fixed ? "recreate" : undefined)),
];

const POLICIES: readonly Policy[] = [
  // Adopted pods of one session share the Secret's name: the earlier pod has ended but still exists, e.g. evicted.
  policy("pod-replaced", ({ secret, pod, identity }) => {
    if (secret.deleting || secret.fixed || !isLabelled(secret) || isOwnedBy(secret, pod)) return undefined;
    const isTheirs = secret.labels[LABELS.session] === labelValue(identity.sessionId);
    const isShared = isTheirs && secret.name === adoptedSecretName(identity.sessionId, pod.uid);
    return isShared && secret.owners.every(({ kind }) => kind === "Pod") ? "issue" : undefined;
  }),

  ...PLACE_POLICIES,

  // A key was deleted or emptied, or the certificate is unreadable.
  policy("data-missing", ({ secret, leaf }) => (leaf === undefined || !secret.data["tls.key"] ? "issue" : undefined)),

  // It was changed halfway by hand: the key belongs to another certificate.
  policy("pair-mismatch", ({ secret, leaf }) => (isPair(leaf, secret.data["tls.key"]) ? undefined : "issue")),

  // The CA was replaced: reissue before the old CA leaves the bundle.
  policy("wrong-issuer", ({ leaf, ca }) => (leaf && isIssuedBy(leaf, ca.signer.certificate) ? undefined : "issue")),

  // The certificate is another session's, has more names, or allows calling: the sidecar or its callers would refuse
  // it.
  policy("wrong-names", ({ leaf, identity }) => (leaf && isCertificateOf(leaf, identity) ? undefined : "issue")),

  // It was issued by a replica whose clock was ahead.
  policy("not-yet-valid", ({ leaf, now }) => (leaf && leaf.validFromDate.getTime() > now ? "issue" : undefined)),

  // Half of its lifetime is over, or it has expired.
  policy("renewal-due", ({ leaf, ca, now }) => (leaf && renewalTime(leaf, ca) <= now ? "issue" : undefined)),

  // The CAs of the sidecar's callers have changed.
  policy("bundle-stale", ({ secret, ca }) => (secret.data["ca.crt"] === ca.bundle ? undefined : "refresh")),

  // A certificate was revoked, or the list was renewed.
  policy("list-stale", ({ secret, ca }) => (secret.data["crl.pem"] === ca.crl ? undefined : "refresh")),

  // A label was changed by hand: the watch, and searches for our objects, would miss the Secret.
  policy("labels-changed", ({ secret, identity }) =>
    isLabelled(secret) && secret.labels[LABELS.session] === labelValue(identity.sessionId) ? undefined : "refresh",
  ),
];

/**
 * The names of the policies in order; `secret-absent` comes before them.
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
