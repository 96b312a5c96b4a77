/** One call to the Kubernetes API. */
export interface KubeRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path from the root of the API, with names escaped: `/api/v1/namespaces/agents/pods/a`. */
  readonly path: string;
  /** Parameters that are undefined are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Default: `application/json`. A PATCH must set its own type. */
  readonly contentType?: string;
  /**
   * For a list: maps each item to the value to keep in its place. The items are parsed one by one, never all at once.
   * Must not throw.
   */
  readonly keep?: (item: unknown) => unknown;
  /** Limits a call, including its retries, or the wait until a stream's response begins. Default: 10,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * `urgent`: a separate connection for the Lease, so that it does not wait for other calls. `creates`: separate
   * connections, so that other calls do not wait for the admission webhooks of new pods.
   */
  readonly lane?: "urgent" | "creates";
  /**
   * Runs before each attempt, and again right before the request is written to its connection; if it throws, the call
   * is not sent. A leader refuses writes here once it may no longer make them.
   */
  readonly beforeAttempt?: () => void;
}

/**
 * The Kubernetes API as the rooms above need it. Errors: `KubeApiError` for an error response, `KubeUnreachableError`
 * for no response, DomainError `deadline`; the signal's reason when it is aborted.
 */
export interface KubeApi {
  /**
   * The monotonic time at which the API server last failed to answer an urgent call, or the current time while an
   * urgent call has been waiting for more than a second. Undefined: it has never failed.
   */
  readonly unansweredAtMs?: number | undefined;
  /** The response as JSON. Retries when the server asks for it (429 and 5xx with Retry-After), within `timeoutMs`. */
  call(request: KubeRequest, signal: AbortSignal): Promise<unknown>;
  /**
   * The response's bytes as they arrive. The first chunk is empty and signals that the response has begun. Never
   * retries, and has no time limit once the response has begun. Leaving the loop cancels the request.
   */
  stream(request: KubeRequest, signal: AbortSignal): AsyncIterable<Uint8Array>;
}
