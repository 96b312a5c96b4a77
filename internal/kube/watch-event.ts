import { DomainError } from "../base/errors.ts";
import { KubeApiError, statusAnswer } from "./kube-errors.ts";
import { metaOf, type ObjectMeta } from "./kube-object.ts";

export type WatchEvent =
  | { readonly type: "put" | "deleted"; readonly meta: ObjectMeta; readonly object: unknown }
  | { readonly type: "bookmark"; readonly resourceVersion: string };

/**
 * Parses one line of a watch.
 * @throws KubeApiError for an ERROR event; DomainError `unavailable` if it is not an event
 */
export function watchEvent(value: unknown, path: string): WatchEvent {
  const { type, object } = (value ?? {}) as { readonly type?: unknown; readonly object?: unknown };
  if (type === "ERROR") throw errorEvent(object, path);
  if (type === "BOOKMARK") return { type: "bookmark", resourceVersion: bookmarkVersion(object, path) };
  const meta = metaOf(object);
  if (meta === undefined || !(typeof type === "string" && type in TYPES)) throw noEvent(path);
  return { type: TYPES[type as keyof typeof TYPES], meta, object };
}

const TYPES = { ADDED: "put", MODIFIED: "put", DELETED: "deleted" } as const;

/** A bookmark's object has no name. */
function bookmarkVersion(object: unknown, path: string): string {
  const version = (object as { metadata?: { resourceVersion?: unknown } } | undefined)?.metadata?.resourceVersion;
  if (typeof version !== "string") throw noEvent(path);
  return version;
}

function errorEvent(object: unknown, path: string): KubeApiError {
  const { code, details } = (object ?? {}) as { code?: unknown; details?: { retryAfterSeconds?: unknown } };
  const seconds = Number(details?.retryAfterSeconds ?? 0);
  const retryAfterMs = seconds > 0 ? seconds * 1_000 : undefined;
  return new KubeApiError(`watch ${path}`, typeof code === "number" ? code : 500, statusAnswer(object), retryAfterMs);
}

function noEvent(path: string): DomainError {
  return new DomainError("unavailable", `cannot watch ${path}: a line is not an event`);
}
