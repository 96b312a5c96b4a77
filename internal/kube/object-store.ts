import type { KubeObject } from "./kube-object.ts";

export type Delta<T> =
  | { readonly type: "added"; readonly object: KubeObject<T> }
  | { readonly type: "changed"; readonly object: KubeObject<T>; readonly before: KubeObject<T> }
  | { readonly type: "removed"; readonly object: KubeObject<T> };

/**
 * The objects of one watch, by key. Each change returns its effect. If an object was deleted and created again under
 * its name during a gap (and has another uid), it is reported as removed and added.
 */
export class ObjectStore<T> {
  #objects = new Map<string, KubeObject<T>>();

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): KubeObject<T> | undefined {
    return this.#objects.get(key);
  }

  values(): IterableIterator<KubeObject<T>> {
    return this.#objects.values();
  }

  put(object: KubeObject<T>): readonly Delta<T>[] {
    const deltas = difference(this.#objects.get(object.key), object);
    this.#objects.set(object.key, object);
    return deltas;
  }

  /** `uid`: the uid of the deleted object. A newer object of the same name stays. */
  remove(key: string, uid: string): readonly Delta<T>[] {
    const object = this.#objects.get(key);
    if (object === undefined || object.uid !== uid) return [];
    this.#objects.delete(key);
    return [{ type: "removed", object }];
  }

  /** Replaces all objects atomically: readers see the old or the new set. */
  replace(objects: readonly KubeObject<T>[]): readonly Delta<T>[] {
    const before = this.#objects;
    this.#objects = new Map(objects.map((object) => [object.key, object]));
    const removed = [...before.values()].filter((object) => !this.#objects.has(object.key));
    return [
      ...removed.map((object): Delta<T> => ({ type: "removed", object })),
      ...objects.flatMap((object) => difference(before.get(object.key), object)),
    ];
  }
}

function difference<T>(before: KubeObject<T> | undefined, object: KubeObject<T>): readonly Delta<T>[] {
  if (before === undefined) return [{ type: "added", object }];
  if (before.uid !== object.uid) {
    return [
      { type: "removed", object: before },
      { type: "added", object },
    ];
  }
  return before.resourceVersion === object.resourceVersion ? [] : [{ type: "changed", object, before }];
}
