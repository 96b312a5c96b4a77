import { expect, it } from "vitest";
import { BoundedMap } from "./bounded-map.ts";

it("forgets the least recently used entry", () => {
  const map = new BoundedMap<number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.get("a");
  map.set("c", 3);
  expect([map.get("a"), map.get("b"), map.get("c"), map.size]).toEqual([1, undefined, 3, 2]);
});
