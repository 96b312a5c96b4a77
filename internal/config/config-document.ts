import { isMap, isNode, isScalar, LineCounter, type Node, parseDocument, type YAMLMap } from "yaml";
import { errorText } from "../base/errors.ts";
import type { ConfigFault } from "./config-fault.ts";

/** The limit of resolved aliases, so that a short text cannot expand to a huge one. */
const MAX_ALIASES = 100;

/** The position of a value: keys of blocks, indices of lists. */
export type KeyPath = readonly (string | number)[];

/** A YAML text as a value, with the line of each of its keys. */
export class ConfigDocument {
  /** Plain objects, lists and scalars. Do not use it if the text has faults. */
  readonly value: unknown;
  /** Violations of YAML: wrong syntax, duplicate keys, unknown tags, more than one document. */
  readonly faults: readonly ConfigFault[];
  readonly #root: Node | null;
  readonly #lines: LineCounter;

  constructor(text: string) {
    this.#lines = new LineCounter();
    const document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false, version: "1.2" });
    this.#root = document.contents;
    const faults = [...document.errors, ...document.warnings].map(({ pos: [at], message }) => this.#fault(at, message));
    try {
      if (faults.length === 0) this.value = document.toJS({ maxAliasCount: MAX_ALIASES });
    } catch (err) {
      faults.push(this.#fault(0, errorText(err))); // an alias without an anchor, or too many aliases
    }
    this.faults = faults;
  }

  #fault(at: number, message: string): ConfigFault {
    return { line: this.#lines.linePos(at).line, key: "", reason: `cannot be read as YAML: ${message}` };
  }

  /** True if the text sets this key. */
  has(path: KeyPath): boolean {
    let node: unknown = this.#root;
    for (const part of path) {
      const next = stepInto(node, part);
      if (next === undefined) return false;
      node = next.value;
    }
    return true;
  }

  /** The line of a key or, if it is not set, of the nearest block above it; counted from 1. */
  lineOf(path: KeyPath): number {
    let node: unknown = this.#root;
    let at = startOf(this.#root) ?? 0;
    for (const part of path) {
      const next = stepInto(node, part);
      if (next === undefined) break;
      at = next.at ?? at;
      node = next.value;
    }
    return this.#lines.linePos(at).line;
  }
}

interface Step {
  readonly value: unknown;
  /** Offset of the key, or of the item of a list. */
  readonly at: number | undefined;
}

function stepInto(node: unknown, part: string | number): Step | undefined {
  if (isMap(node)) {
    const pair = pairOf(node, part);
    return pair && { value: pair.value, at: startOf(pair.key) };
  }
  const item = hasItems(node) && typeof part === "number" ? node.items[part] : undefined;
  return item === undefined ? undefined : { value: item, at: startOf(item) };
}

function pairOf(map: YAMLMap, key: string | number) {
  return map.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === String(key));
}

function hasItems(node: unknown): node is { readonly items: readonly unknown[] } {
  return isNode(node) && "items" in node;
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}
