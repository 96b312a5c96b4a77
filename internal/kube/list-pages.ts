import { DomainError } from "../base/errors.ts";
import { type Collection, collectionRequest } from "./collection.ts";
import type { KubeApi } from "./kube-api.ts";
import { type KubeObject, keyOf, metaOf } from "./kube-object.ts";

export interface Listed<T> {
  readonly objects: readonly KubeObject<T>[];
  /** The version from which a watch continues. */
  readonly resourceVersion: string;
}

/** A page of 250 pods is about 1.5 MB of JSON. */
const PAGE_SIZE = 250;
const PAGE_TIMEOUT_MS = 30_000;

/**
 * All objects of the collection at one point in time, read page by page; only their projections are kept. The request
 * has no resourceVersion, so the result is never older than an earlier one.
 * @throws as `KubeApi.call`; `gone` if reading takes longer than the server keeps that version of the collection
 */
export async function listPages<T>(
  api: KubeApi,
  collection: Collection<T>,
  signal: AbortSignal,
  pageSize = PAGE_SIZE,
): Promise<Listed<T>> {
  const objects: KubeObject<T>[] = [];
  const keep = (item: unknown) => projected(collection, item);
  let next: string | undefined;
  for (;;) {
    const query = { limit: pageSize, continue: next };
    const request = { ...collectionRequest(collection, query), keep, timeoutMs: PAGE_TIMEOUT_MS };
    const { items, metadata } = (await api.call(request, signal)) as Page<T>;
    if (!Array.isArray(items) || typeof metadata?.resourceVersion !== "string") {
      throw new DomainError("unavailable", `cannot list ${collection.path}: the response is not a list`);
    }
    for (const object of items) if (object !== undefined) objects.push(object);
    next = metadata.continue || undefined;
    if (next === undefined) return { objects, resourceVersion: metadata.resourceVersion };
  }
}

interface Page<T> {
  readonly items?: readonly (KubeObject<T> | undefined)[];
  readonly metadata?: { readonly resourceVersion?: unknown; readonly continue?: string };
}

/** Undefined if the value is not an object, or the projection keeps nothing of it. */
export function projected<T>(collection: Collection<T>, object: unknown): KubeObject<T> | undefined {
  const meta = metaOf(object);
  const value = meta && collection.project(object);
  if (meta === undefined || value === undefined) return undefined;
  return { key: keyOf(meta), uid: meta.uid, resourceVersion: meta.resourceVersion, value };
}
