import { createHash, type X509Certificate } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import { firstCertificateOf } from "../../pki/pem.ts";
import { ANNOTATIONS, CERTIFICATE_GATE, LABELS, labelValue, MANAGED_BY } from "../pods/names.ts";
import type { ObservedPod } from "../pods/observed-pod.ts";
import { type CertificateAction, certificateAction, type ObservedSecret } from "./certificate-policies.ts";
import type { PodNote, PodNotes, SecretContent, SecretStore } from "./secret-store.ts";
import { type IssuingCa, newSessionCertificate, renewalTime } from "./session-certificate.ts";
import { ShownSecrets, type ShownVersionOf } from "./shown-secrets.ts";

export interface CertificateReconcilerDeps {
  readonly secrets: SecretStore;
  readonly notes: PodNotes;
  /** The current CA. @throws DomainError `unavailable` while it is not known */
  readonly ca: () => IssuingCa;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called after a certificate was written; `why` is a policy's name. */
  readonly onIssued?: (why: string) => void;
  /** A Secret whose version the watch shows unchanged is not read again. Absent: there is no watch. */
  readonly shown?: ShownVersionOf;
}

/** A Secret that needed no action. */
interface Kept {
  readonly podUid: string;
  readonly ca: IssuingCa;
  readonly note: PodNote;
  /** Wall clock, ms. */
  readonly renewAt: number;
}

/** A session and its pod. */
export interface CertifiedSession {
  readonly sessionId: string;
  readonly pod: ObservedPod;
  /** The Secret that the pod mounts; derived from the session or the pod's uid, not from the pod's spec. */
  readonly secretName: string;
}

/** The result of a check, and when to check again if nothing changes. */
export type CertificateOutcome =
  /** The Secret is correct, and the pod's annotation records it. */
  | { readonly type: "current"; readonly again: { readonly inMs: number } }
  /** A Secret that is not ours has the name: nothing was touched, and the pod cannot start. */
  | { readonly type: "refused"; readonly why: string; readonly again: { readonly inMs: number } }
  /** An old Secret must be deleted first. */
  | { readonly type: "waiting"; readonly why: string; readonly again: { readonly inMs: number } };

/** Only a fallback: the watch shows the deletion of the Secret, which a finalizer may delay without a limit. */
const LOOK_AGAIN_MS = 10_000;
const REFUSED_AGAIN_MS = 60_000;

/**
 * Brings the Secret of one session's pod into its desired state, and annotates the pod. Every write has a precondition,
 * so concurrent replicas, or one that stops between two writes, leave one valid Secret: the next check completes the
 * rest.
 */
export class CertificateReconciler {
  readonly #deps: CertificateReconcilerDeps;
  readonly #trustDomain: string;
  readonly #kept: ShownSecrets<Kept>;

  constructor(deps: CertificateReconcilerDeps, options: { readonly trustDomain: string }) {
    this.#deps = deps;
    this.#trustDomain = options.trustDomain;
    this.#kept = new ShownSecrets(deps.clock, deps.shown);
  }

  /**
   * Checks once. A pod that is being deleted is left alone.
   * @throws DomainError of the cluster's API: `already-exists` and `precondition` if another replica was faster; check
   * again
   */
  async reconcile(session: CertifiedSession, signal: AbortSignal): Promise<CertificateOutcome> {
    const { pod, secretName } = session;
    if (pod.deletedAt !== undefined) return { type: "waiting", why: "pod-deleted", again: { inMs: REFUSED_AGAIN_MS } };
    const kept = this.#kept.found(pod.namespace, secretName);
    if (kept !== undefined && this.#isCurrent(pod, kept)) {
      return { type: "current", again: { inMs: kept.renewAt - this.#deps.clock.now() } };
    }
    const secret = await this.#deps.secrets.get(pod.namespace, secretName, signal);
    const ca = this.#deps.ca();
    const now = this.#deps.clock.now();
    const action = certificateAction({ identity: this.#identityOf(session), pod, secret, ca, now });
    return await this.#act(session, action, secret, ca, signal);
  }

  async #act(
    session: CertifiedSession,
    action: CertificateAction,
    secret: ObservedSecret | undefined,
    ca: IssuingCa,
    signal: AbortSignal,
  ): Promise<CertificateOutcome> {
    const { secrets, clock } = this.#deps;
    const { namespace } = session.pod;
    switch (action.type) {
      case "keep":
        if (secret !== undefined) {
          const note = noteOf(secret.data);
          await this.#announce(session, note, signal);
          this.#kept.keep(namespace, secret, { podUid: session.pod.uid, ca, note, renewAt: action.renewAt });
        }
        return { type: "current", again: { inMs: Math.max(0, action.renewAt - clock.now()) } };
      case "issue":
      case "refresh": {
        const data = await this.#dataFor(session, action, secret, ca);
        await this.#write(session, data, secret, signal);
        this.#tellWritten(session, action, data);
        await this.#announce(session, noteOf(data), signal);
        return { type: "current", again: { inMs: Math.max(0, renewalTime(leafOf(data), ca) - clock.now()) } };
      }
      case "recreate":
        if (secret !== undefined) await secrets.delete(namespace, secret.name, secret, signal);
        return { type: "waiting", why: action.why, again: { inMs: 0 } };
      case "wait":
        return { type: "waiting", why: action.why, again: { inMs: LOOK_AGAIN_MS } };
      case "refuse":
        this.#tellRefused(session, action.why);
        return { type: "refused", why: action.why, again: { inMs: REFUSED_AGAIN_MS } };
    }
  }

  /** A refresh keeps the certificate and its key. Keys that others added to the Secret are dropped. */
  async #dataFor(
    session: CertifiedSession,
    action: CertificateAction,
    secret: ObservedSecret | undefined,
    ca: IssuingCa,
  ): Promise<SecretContent["data"]> {
    const around = { "ca.crt": ca.bundle, ...(ca.crl !== undefined && { "crl.pem": ca.crl }) };
    if (action.type === "refresh" && secret !== undefined) {
      return { "tls.crt": secret.data["tls.crt"] ?? "", "tls.key": secret.data["tls.key"] ?? "", ...around };
    }
    const { cert, key } = await newSessionCertificate(this.#identityOf(session), ca, this.#deps.clock.now());
    return { "tls.crt": cert, "tls.key": key, ...around };
  }

  async #write(
    { pod, secretName, sessionId }: CertifiedSession,
    data: SecretContent["data"],
    secret: ObservedSecret | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const content: SecretContent = {
      name: secretName,
      labels: { [LABELS.managedBy]: MANAGED_BY, [LABELS.session]: labelValue(sessionId) },
      owner: { kind: "Pod", name: pod.name, uid: pod.uid },
      data,
    };
    if (secret === undefined) await this.#deps.secrets.create(pod.namespace, content, signal);
    else await this.#deps.secrets.replace(pod.namespace, content, secret, signal);
  }

  #tellWritten(
    session: CertifiedSession,
    action: { readonly type: string; readonly why: string },
    data: SecretContent["data"],
  ) {
    const { pod, sessionId } = session;
    const fields = { namespace: pod.namespace, pod: pod.name, session: sessionId, why: action.why };
    if (action.type === "refresh") {
      this.#deps.logger.info(fields, "CAs or revocation lists updated");
      return;
    }
    this.#deps.logger.info({ ...fields, serial: serialOf(data) }, "certificate issued");
    this.#deps.onIssued?.(action.why);
  }

  /**
   * `other-owner`: a Deployment has replaced the pod, and the old pod's Secret will be gone soon. A foreign Secret
   * stays.
   */
  #tellRefused({ pod: { namespace }, secretName: secret, sessionId: session }: CertifiedSession, why: string): void {
    const { logger } = this.#deps;
    const fields = { namespace, secret, session, why };
    if (why === "other-owner")
      logger.warn(fields, "another object owns the session's Secret: no certificate until it is gone");
    else logger.error(fields, "a Secret of this name is not ours: the session gets no certificate");
  }

  async #announce({ pod }: CertifiedSession, note: PodNote, signal: AbortSignal): Promise<void> {
    if (!isAnnounced(pod, note)) await this.#deps.notes.announce(pod, note, signal);
  }

  #isCurrent(pod: ObservedPod, { podUid, ca, note, renewAt }: Kept): boolean {
    const { clock } = this.#deps;
    return podUid === pod.uid && ca === this.#deps.ca() && renewAt > clock.now() && isAnnounced(pod, note);
  }

  #identityOf({ sessionId, pod }: CertifiedSession) {
    return { trustDomain: this.#trustDomain, namespace: pod.namespace, sessionId };
  }
}

function isAnnounced({ annotations, gates }: ObservedPod, { serial, tlsHash }: PodNote): boolean {
  const isNoted = annotations[ANNOTATIONS.certSerial] === serial && annotations[ANNOTATIONS.tlsHash] === tlsHash;
  return isNoted && !gates.includes(CERTIFICATE_GATE);
}

function noteOf(data: SecretContent["data"]): PodNote {
  return { serial: serialOf(data), tlsHash: hashOf(data) };
}

function serialOf(data: SecretContent["data"]): string {
  return leafOf(data).serialNumber;
}

function leafOf(data: SecretContent["data"]): X509Certificate {
  return firstCertificateOf(data["tls.crt"] ?? "");
}

/** Hashes everything but the key, whose hash must not be in an annotation that more people may read. */
function hashOf(data: SecretContent["data"]): string {
  const hash = createHash("sha256");
  for (const name of ["tls.crt", "ca.crt", "crl.pem"]) hash.update(`${name}\0${data[name] ?? ""}\0`);
  return hash.digest("hex").slice(0, 16);
}
