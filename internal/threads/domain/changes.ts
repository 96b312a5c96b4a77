/** A committed change: its kind and ids, without content. */
export interface Change {
  readonly workspace: string;
  readonly kind: "message" | "thread" | "wake" | "escalation" | "session" | "revoked" | "policy";
  readonly threadId?: string | undefined;
  /** The agents that the change concerns; absent: all participants of the thread. */
  readonly agents?: readonly string[] | undefined;
}

/**
 * Notifies of commits: of this process's at once, of other processes' soon after. Delivery is best-effort, so
 * subscribers poll too.
 */
export interface Changes {
  publish(change: Change): void;
  /**
   * Calls `heard` for each change; with undefined when changes may have been missed, so that everything has to be read
   * again.
   */
  subscribe(heard: (change: Change | undefined) => void): Disposable;
}
