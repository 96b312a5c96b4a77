import type { V1Pod } from "@kubernetes/client-node";
import { DomainError } from "../../base/errors.ts";
import type { KubeApi } from "../../kube/kube-api.ts";
import { isFault } from "../../kube/kube-errors.ts";
import { type ObservedPod, observePod } from "./observed-pod.ts";

/** A pod as it was observed; a write to another pod of the same name is refused. */
export type SeenPod = Pick<ObservedPod, "namespace" | "name" | "uid">;

/** Pods through the Kubernetes API; errors are those of `KubeApi`. */
export class PodClient {
  readonly #api: KubeApi;

  constructor(api: KubeApi) {
    this.#api = api;
  }

  async create(namespace: string, pod: V1Pod, signal: AbortSignal): Promise<ObservedPod> {
    const request = { method: "POST", path: podsPath(namespace), body: pod, lane: "creates" } as const;
    return observePod(await this.#api.call(request, signal));
  }

  /** Like `create`, but a dry run: checks that admission, quota and the API server would accept the pod. */
  async tryCreate(namespace: string, pod: V1Pod, signal: AbortSignal): Promise<void> {
    const query = { dryRun: "All" };
    const request = { method: "POST", path: podsPath(namespace), query, body: pod, lane: "creates" } as const;
    await this.#api.call(request, signal);
  }

  /** Undefined: no pod has the name. `timeoutMs`: as in `KubeRequest`. */
  async get(
    namespace: string,
    name: string,
    signal: AbortSignal,
    timeoutMs?: number,
  ): Promise<ObservedPod | undefined> {
    const request = { method: "GET", path: podsPath(namespace, name), timeoutMs } as const;
    try {
      return observePod(await this.#api.call(request, signal));
    } catch (err) {
      if (isFault(err, "not-found")) return undefined;
      throw err;
    }
  }

  /** All pods that match the selector, from the API server. */
  async list(namespace: string, labelSelector: string, signal: AbortSignal): Promise<readonly ObservedPod[]> {
    const request = { method: "GET", path: podsPath(namespace), query: { labelSelector }, keep: observePod } as const;
    return ((await this.#api.call(request, signal)) as { readonly items: readonly ObservedPod[] }).items;
  }

  /** @throws DomainError `not-found`; `precondition` for a pod with another uid */
  async annotate(pod: SeenPod, annotations: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    const body = { metadata: { uid: pod.uid, annotations } };
    const contentType = "application/merge-patch+json";
    try {
      await this.#api.call({ method: "PATCH", path: podsPath(pod.namespace, pod.name), contentType, body }, signal);
    } catch (err) {
      if (!isFault(err, "invalid") || !err.message.includes("metadata.uid")) throw err;
      throw new DomainError("precondition", `pod ${pod.name} was replaced by another one of its name`, { cause: err });
    }
  }

  /** Deletes the pod; does nothing if it is gone or was replaced by another pod of the same name. */
  async delete({ namespace, name, uid }: SeenPod, signal: AbortSignal): Promise<void> {
    const body = { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid } };
    try {
      await this.#api.call({ method: "DELETE", path: podsPath(namespace, name), body }, signal);
    } catch (err) {
      if (!isFault(err, "not-found") && !isFault(err, "conflict")) throw err;
    }
  }
}

export function podsPath(namespace: string, name?: string): string {
  const all = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  return name === undefined ? all : `${all}/${encodeURIComponent(name)}`;
}
