import type { ObservedSecret } from "./certificate-policies.ts";

/** The owner of a Secret: the cluster deletes the Secret with it. */
export interface SecretOwner {
  readonly kind: "Pod" | "ConfigMap";
  readonly name: string;
  readonly uid: string;
}

/** The desired state of a Secret. */
export interface SecretContent {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly owner?: SecretOwner | undefined;
  /** Decoded. */
  readonly data: Readonly<Record<string, string>>;
}

/** The observed version of an object: a write is refused if the object has changed since or was replaced. */
export interface SeenVersion {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** Secrets of a cluster. Errors are those of `KubeApi`. */
export interface SecretStore {
  /** Undefined: the Secret does not exist. */
  get(namespace: string, name: string, signal: AbortSignal): Promise<ObservedSecret | undefined>;
  /** @throws DomainError `already-exists` */
  create(namespace: string, secret: SecretContent, signal: AbortSignal): Promise<void>;
  /** @throws DomainError `precondition` if it was changed since, `not-found` */
  replace(namespace: string, secret: SecretContent, seen: SeenVersion, signal: AbortSignal): Promise<void>;
  /**
   * Sets these keys and removes those that are undefined; everything else stays, including foreign labels. An `owner`
   * replaces the current owners.
   * @throws DomainError `precondition` if it was changed since, `not-found`
   */
  patch(
    namespace: string,
    name: string,
    data: Readonly<Record<string, string | undefined>>,
    seen: SeenVersion & { readonly owner?: SecretOwner | undefined },
    signal: AbortSignal,
  ): Promise<void>;
  /** Does nothing if the Secret is gone. @throws DomainError `precondition` if it was changed since */
  delete(namespace: string, name: string, seen: SeenVersion, signal: AbortSignal): Promise<void>;
}

/** Annotations of a session's pod about its Secret. */
export interface PodNote {
  readonly serial: string;
  readonly tlsHash: string;
}

export interface PodNotes {
  /**
   * Sets the annotations and removes the pod's certificate gate, if any, in one write.
   * @throws DomainError `precondition` for a pod with another uid, `not-found`
   */
  announce(
    pod: { readonly namespace: string; readonly name: string; readonly uid: string },
    note: PodNote,
    signal: AbortSignal,
  ): Promise<void>;
}
