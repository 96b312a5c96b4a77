import type { KubeRequest } from "./kube-api.ts";

/** The objects of one kind in one or all namespaces, optionally only those that the selectors match. */
export interface Collection<T> {
  /** `/api/v1/namespaces/agents/pods` */
  readonly path: string;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** The part of an object to keep; undefined: the object is ignored. Must not throw. */
  readonly project: (object: unknown) => T | undefined;
}

/** A request to read the collection, with `query` added to its selectors. */
export function collectionRequest(
  { path, labelSelector, fieldSelector }: Collection<unknown>,
  query: NonNullable<KubeRequest["query"]>,
): KubeRequest {
  return { method: "GET", path, query: { labelSelector, fieldSelector, ...query } };
}
