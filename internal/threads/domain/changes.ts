/** What has been committed; ids only. */
export interface Change {
  readonly workspace: string;
  readonly kind: "message" | "thread" | "wake" | "escalation" | "session" | "revoked" | "policy";
  readonly threadId?: string;
  /** Whom a message or a wake is for; absent: whoever takes part. */
  readonly agents?: readonly string[];
}

/** News of commits, of this process at once and of others soon after; losing some is allowed, readers look again. */
export interface Changes {
  publish(change: Change): void;
  /** `heard` with undefined: something may have been missed, look at everything. */
  subscribe(heard: (change: Change | undefined) => void): Disposable;
}
