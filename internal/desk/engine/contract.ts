import { types } from "node:util";
import type { z } from "zod";
import { DomainError } from "../../base/errors.ts";

/** The schema of each channel of a state. */
export type Channels<S> = { readonly [K in keyof S]: z.ZodType<S[K]> };

/** `T` with every part read-only, as a node gets it. */
export type Frozen<T> = T extends readonly (infer U)[]
  ? readonly Frozen<U>[]
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T;

/** A node broke its contract; nothing of its result is written. The message quotes no value and no unknown key. */
class ContractViolation extends DomainError {
  constructor(node: string, channel: string, fault: string) {
    super("precondition", `contract_violation: node ${node}, ${channel}: ${fault}`, {
      fields: { reason: "internal error" },
    });
  }
}

const MAX_DEPTH = 8;

/** A copy of the channels that a node reads, frozen throughout. */
export function readable<S extends object, R extends keyof S>(state: S, reads: readonly R[]): Frozen<Pick<S, R>> {
  const read = Object.fromEntries(reads.map((name) => [name, state[name]]));
  const copy: unknown = freeze(structuredClone(read));
  return copy as Frozen<Pick<S, R>>;
}

function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const part of Object.values(value)) freeze(part);
  return Object.freeze(value);
}

/**
 * Builds a copy of a node's result, which must be a plain object with data properties for channels of `writes` only,
 * each a value of its schema. No code of the result runs.
 * @throws ContractViolation
 */
export function written<S extends object>(
  channels: Channels<S>,
  node: { readonly name: string; readonly writes: readonly (keyof S & string)[] },
  result: unknown,
): Partial<S> {
  const violation = (channel: string, fault: string) => new ContractViolation(node.name, channel, fault);
  if (!isPlain(result)) throw violation("result", "not a plain object");
  const checked: Partial<S> = {};
  for (const key of Reflect.ownKeys(result)) {
    const name = node.writes.find((own) => own === key);
    if (name === undefined) throw violation("another key", "not in writes");
    const value = dataOf(result, key);
    const copy = value === undefined ? undefined : plainCopy(value.value, 0);
    if (copy === undefined) throw violation(name, "not plain data");
    const parsed = channels[name].safeParse(copy.value);
    if (!parsed.success) throw violation(name, "not of its type");
    checked[name] = parsed.data;
  }
  return checked;
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null || types.isProxy(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The value of an enumerable data property; undefined for a getter or a hidden one. */
function dataOf(object: object, key: PropertyKey): { readonly value: unknown } | undefined {
  const found = Reflect.getOwnPropertyDescriptor(object, key);
  return found !== undefined && "value" in found && found.enumerable ? { value: found.value } : undefined;
}

/** Undefined for anything but plain data: accessors, symbols, classes, proxies, ill-formed strings, great depth. */
function plainCopy(value: unknown, depth: number): { readonly value: unknown } | undefined {
  if (typeof value === "string") return value.isWellFormed() ? { value } : undefined;
  if (value === null || typeof value === "boolean" || typeof value === "number") return { value };
  if (typeof value !== "object" || types.isProxy(value) || depth > MAX_DEPTH) return undefined;
  const isList = Array.isArray(value) && Object.getPrototypeOf(value) === Array.prototype;
  if (!isList && !isPlain(value)) return undefined;
  const copy: object = isList ? [] : {};
  for (const key of Reflect.ownKeys(value)) {
    if (isList && key === "length") continue;
    const data = typeof key === "string" && key !== "__proto__" ? dataOf(value, key) : undefined;
    const part = data && plainCopy(data.value, depth + 1);
    if (part === undefined || (isList && !/^\d+$/.test(String(key)))) return undefined;
    Object.defineProperty(copy, key, { value: part.value, enumerable: true, writable: true, configurable: true });
  }
  return { value: copy };
}
