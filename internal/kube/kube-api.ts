/** One call to the Kubernetes API. */
export interface KubeRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** From the root of the API, names escaped: `/api/v1/namespaces/agents/pods/a`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Default: `application/json`. A PATCH names its own kind. */
  readonly contentType?: string;
  /**
   * Of a list: what is kept of each item, in its place. The items are read one by one, never all at once. It must not
   * throw.
   */
  readonly keep?: (item: unknown) => unknown;
  /** For the whole call with its repetitions; for a stream until its first byte may come. Default: 10,000. */
  readonly timeoutMs?: number;
  /**
   * `urgent`: over its own connection, so that it waits for no other call. For the Lease. `creates`: over connections
   * of their own, so that no other call waits for what a namespace's admission makes of new pods.
   */
  readonly lane?: "urgent" | "creates";
  /**
   * Runs before each attempt, and again right before the request is written to its connection; what it throws ends the
   * call unsent. A leader refuses a write here that it may no longer make.
   */
  readonly beforeAttempt?: () => void;
}

/**
 * The Kubernetes API as this room needs it. Errors: `KubeApiError` for what the API server answers,
 * `KubeUnreachableError` for no answer, DomainError `deadline`; the signal's reason when it is aborted.
 */
export interface KubeApi {
  /**
   * The answer's JSON. Repeats what the server asks to repeat (429 and 5xx with Retry-After), within the call's time.
   */
  call(request: KubeRequest, signal: AbortSignal): Promise<unknown>;
  /**
   * The answer's bytes as they come; the first chunk is empty, and says that the server has begun to answer. Never
   * repeats, has no time limit once it began; leaving the loop ends the request.
   */
  stream(request: KubeRequest, signal: AbortSignal): AsyncIterable<Uint8Array>;
}
