/** One call to the Kubernetes API. */
export interface KubeRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path from the root of the API, with names escaped: `/api/v1/namespaces/agents/pods/a`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Default: `application/json`. A PATCH must set its own type. */
  readonly contentType?: string;
  /**
   * For a list: maps each item to the value to keep in its place. The items are parsed one by one, never all at once.
   * Must not throw.
   */
  readonly keep?: (item: unknown) => unknown;
  /** Limit of a call including its retries; of a stream, until the response begins. Default: 10,000. */
  readonly timeoutMs?: number;
  /**
   * `urgent`: a connection of its own, so that the call waits for no other; for the Lease. `creates`: separate
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
   * When the API server last failed to answer an urgent call, on the monotonic clock; the current time while one has
   * been waiting for more than a second. Undefined: never.
   */
  readonly unansweredAtMs?: number | undefined;
  /** The response as JSON. Retries when the server asks for it (429 and 5xx with Retry-After), within `timeoutMs`. */
  call(request: KubeRequest, signal: AbortSignal): Promise<unknown>;
  /**
   * The response's bytes as they arrive. The first chunk is empty and signals that the response has begun. Never
   * retries, and has no time limit after that; leaving the loop cancels the request.
   */
  stream(request: KubeRequest, signal: AbortSignal): AsyncIterable<Uint8Array>;
}
