import type { ObservedSecret } from "./certificate-policies.ts";

/** The object with whose end the cluster deletes the Secret. */
export interface SecretOwner {
  readonly kind: "Pod" | "ConfigMap";
  readonly name: string;
  readonly uid: string;
}

/** The desired state of a Secret. */
export interface SecretContent {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly owner?: SecretOwner;
  /** Decoded. */
  readonly data: Readonly<Record<string, string>>;
}

/** What was seen of an object before it is changed: a change of something newer, or of another object, is refused. */
export interface Seen {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** Secrets of a cluster. Errors are those of `KubeApi`. */
export interface SecretStore {
  /** Undefined: there is none. */
  get(namespace: string, name: string, signal: AbortSignal): Promise<ObservedSecret | undefined>;
  /** @throws DomainError `already-exists` */
  create(namespace: string, secret: SecretContent, signal: AbortSignal): Promise<void>;
  /** @throws DomainError `precondition` when it was changed since, `not-found` */
  replace(namespace: string, secret: SecretContent, seen: Seen, signal: AbortSignal): Promise<void>;
  /**
   * Writes these keys and takes away those that are undefined; everything else of it stays, others' labels too. An
   * `owner` takes the place of what owned it.
   * @throws DomainError `precondition` when it was changed since, `not-found`
   */
  patch(
    namespace: string,
    name: string,
    data: Readonly<Record<string, string | undefined>>,
    seen: Seen & { readonly owner?: SecretOwner },
    signal: AbortSignal,
  ): Promise<void>;
  /** @throws DomainError `precondition` when it was changed since. One that is gone is no error. */
  delete(namespace: string, name: string, seen: Seen, signal: AbortSignal): Promise<void>;
}

/** What is written on a session's pod about its Secret. */
export interface PodNote {
  readonly serial: string;
  readonly tlsHash: string;
}

export interface PodNotes {
  /**
   * Writes the annotations and, if the pod waits for its certificate, takes the gate away, in one write.
   * @throws DomainError `precondition` for a pod with another uid, `not-found`
   */
  announce(
    pod: { readonly namespace: string; readonly name: string; readonly uid: string },
    note: PodNote,
    signal: AbortSignal,
  ): Promise<void>;
}
