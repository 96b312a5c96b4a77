import { DomainError } from "../base/errors.ts";
import { type Collection, collectionRequest } from "./collection.ts";
import type { KubeApi } from "./kube-api.ts";
import { type KubeObject, keyOf, metaOf } from "./kube-object.ts";

export interface Listed<T> {
  readonly objects: readonly KubeObject<T>[];
  /** Where a watch continues. */
  readonly resourceVersion: string;
}

/** A page of 250 pods is about 1.5 MB of JSON and holds the event loop for about 10 ms. */
const PAGE_SIZE = 250;
const PAGE_TIMEOUT_MS = 30_000;

/**
 * All objects of the collection at one point in time, read page by page; of each only its projection is held. Without a
 * resourceVersion, so that the answer is never older than the last one.
 * @throws what `KubeApi.call` throws; `gone` when reading took longer than the server keeps the point in time
 */
export async function listPages<T>(
  api: KubeApi,
  collection: Collection<T>,
  signal: AbortSignal,
  pageSize = PAGE_SIZE,
): Promise<Listed<T>> {
  const objects: KubeObject<T>[] = [];
  let next = "";
  for (;;) {
    const query = { limit: pageSize, ...(next === "" ? {} : { continue: next }) };
    const page = await api.call({ ...collectionRequest(collection, query), timeoutMs: PAGE_TIMEOUT_MS }, signal);
    const { items, metadata } = page as Page;
    if (!Array.isArray(items) || typeof metadata?.resourceVersion !== "string") {
      throw new DomainError("unavailable", `cannot list ${collection.path}: the response is not a list`);
    }
    for (const item of items) {
      const object = projected(collection, item);
      if (object !== undefined) objects.push(object);
    }
    next = metadata.continue ?? "";
    if (next === "") return { objects, resourceVersion: metadata.resourceVersion };
  }
}

interface Page {
  readonly items?: unknown;
  readonly metadata?: { readonly resourceVersion?: unknown; readonly continue?: string };
}

/** Undefined: it is no object, or nothing of it is kept. */
export function projected<T>(collection: Collection<T>, object: unknown): KubeObject<T> | undefined {
  const meta = metaOf(object);
  const value = meta && collection.project(object);
  if (meta === undefined || value === undefined) return undefined;
  return { key: keyOf(meta), uid: meta.uid, resourceVersion: meta.resourceVersion, value };
}
