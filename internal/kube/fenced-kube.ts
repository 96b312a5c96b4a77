import type { KubeApi, KubeRequest } from "./kube-api.ts";

/** Wraps an API: `assertMayWrite` runs before each attempt of each write; if it throws, the write is not sent. */
export class FencedKube implements KubeApi {
  readonly #api: KubeApi;
  readonly #assertMayWrite: () => void;

  constructor(api: KubeApi, assertMayWrite: () => void) {
    this.#api = api;
    this.#assertMayWrite = assertMayWrite;
  }

  call(request: KubeRequest, signal: AbortSignal): Promise<unknown> {
    if (request.method === "GET") return this.#api.call(request, signal);
    return this.#api.call({ ...request, beforeAttempt: this.#assertMayWrite }, signal);
  }

  stream(request: KubeRequest, signal: AbortSignal): AsyncIterable<Uint8Array> {
    return this.#api.stream(request, signal);
  }
}
