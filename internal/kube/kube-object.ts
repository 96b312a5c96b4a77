/** The kept part of an object of the cluster. */
export interface KubeObject<T> {
  /** `namespace/name`, or the name of an object without a namespace. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly value: T;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** The metadata of an object from the API server; undefined if `value` is not an object. */
export function metaOf(value: unknown): ObjectMeta | undefined {
  const { metadata } = (value ?? {}) as { readonly metadata?: Readonly<Record<string, unknown>> };
  const { name, namespace = "", uid = "", resourceVersion } = metadata ?? {};
  if (typeof name !== "string" || typeof resourceVersion !== "string") return undefined;
  return { name, namespace: String(namespace), uid: String(uid), resourceVersion };
}

/** @see KubeObject.key */
export function keyOf(meta: Pick<ObjectMeta, "name" | "namespace">): string {
  return meta.namespace === "" ? meta.name : `${meta.namespace}/${meta.name}`;
}
