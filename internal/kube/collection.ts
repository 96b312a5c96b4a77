import type { KubeRequest } from "./kube-api.ts";

/** The objects of one kind in one namespace or in all, possibly only those with certain labels. */
export interface Collection<T> {
  /** `/api/v1/namespaces/agents/pods` */
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** What is kept of an object; undefined: nothing. It must not throw. */
  readonly project: (object: unknown) => T | undefined;
}

/** A read of the collection, with these parameters besides its selectors. */
export function collectionRequest(
  { path, labelSelector, fieldSelector }: Collection<unknown>,
  query: NonNullable<KubeRequest["query"]>,
): KubeRequest {
  const selectors = {
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
  return { method: "GET", path, query: { ...selectors, ...query } };
}
