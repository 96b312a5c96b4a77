import fc from "fast-check";
import { expect, it } from "vitest";
import { z } from "zod";
import { type Channels, readable, written } from "./contract.ts";

interface State {
  readonly note: string;
  readonly list: readonly { readonly name: string }[];
  readonly secret: string;
}

const channels: Channels<State> = {
  ...{ note: z.string(), secret: z.string() },
  list: z.array(z.strictObject({ name: z.string() })),
};
const node = { name: "n", writes: ["note", "list"] } as const;
const keys = fc.constantFrom("note", "list", "secret", "__proto__", "constructor", "toString", "other");
const plain = fc.oneof(fc.string({ unit: "binary" }), fc.integer(), fc.constant(null));
const entry = fc.dictionary(fc.constantFrom("name", "secret"), plain, { maxKeys: 2 });
const value = fc.oneof(plain, entry, fc.array(entry, { maxLength: 2 }));

/** Results of a node that breaks its contract: any keys, as any kind of property. */
const anyResult = fc
  .array(fc.tuple(keys, value, fc.constantFrom("data", "hidden", "getter", "symbol", "inherited")), { maxLength: 4 })
  .map((parts) => {
    let result: object = {};
    for (const [key, content, kind] of parts) {
      const property = kind === "getter" ? { get: () => content } : { value: content };
      const name = kind === "symbol" ? Symbol(key) : key;
      Object.defineProperty(result, name, { ...property, enumerable: kind !== "hidden", configurable: true });
      if (kind === "inherited") result = Object.create(result) as object;
    }
    return result;
  });

it("returns only channels in `writes`, with values of their types, or refuses the result", () => {
  let taken = 0;
  fc.assert(
    fc.property(anyResult, (result) => {
      let checked: Partial<State>;
      try {
        checked = written(channels, node, result);
      } catch (err) {
        expect((err as Error).message).toMatch(/^contract_violation: node n, (result|another key|note|list): [a-z ]+$/);
        return;
      }
      taken++;
      expect(Reflect.ownKeys(checked).every((key) => key === "note" || key === "list")).toBe(true);
      for (const key of Reflect.ownKeys(checked) as ("note" | "list")[]) {
        expect(channels[key].safeParse(checked[key]).success).toBe(true);
        expect(Reflect.getOwnPropertyDescriptor(result, key)).toMatchObject({ enumerable: true });
      }
    }),
    { numRuns: 2000 },
  );
  expect(taken).toBeGreaterThan(0);
});

it("gives a node a frozen copy that shares nothing with the state", () =>
  fc.assert(
    fc.property(fc.array(fc.record({ name: fc.string() })), (list) => {
      const state: State = { note: "n", secret: "s", list };
      const read = readable(state, ["list"]);
      expect(read).toEqual({ list });
      expect(Object.isFrozen(read.list)).toBe(true);
      expect(read.list.every((part, i) => part !== list[i] && Object.isFrozen(part))).toBe(true);
    }),
  ));
