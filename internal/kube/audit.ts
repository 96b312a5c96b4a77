import type { KubeObject } from "./kube-object.ts";

/**
 * Keys of the objects that differ between the copy and a list, except those in `touched`, which changed while the list
 * was read and may therefore differ.
 */
export function differingKeys<T>(
  held: { get(key: string): KubeObject<T> | undefined; values(): Iterable<KubeObject<T>> },
  listed: readonly KubeObject<T>[],
  touched: ReadonlySet<string>,
): readonly string[] {
  const known = new Set<string>();
  const differing: string[] = [];
  for (const object of listed) {
    known.add(object.key);
    const other = held.get(object.key);
    const isSame = other?.uid === object.uid && other.resourceVersion === object.resourceVersion;
    if (!isSame && !touched.has(object.key)) differing.push(object.key);
  }
  for (const { key } of held.values()) if (!known.has(key) && !touched.has(key)) differing.push(key);
  return differing;
}
