import { expect, it } from "vitest";
import { textsOf } from "./real-target.ts";

const ONE = "[threads w-a-1] 1 new";
const TWO = "[threads w-b-1] 1 new";

it.each([
  ["of a conversation that grows are counted once", [[ONE], [ONE, TWO]], [ONE, TWO]],
  ["that arrived twice are counted twice", [[ONE], [ONE, ONE]], [ONE, ONE]],
  ["in one block are distinguished, and other texts are none", [[`${ONE}\n${TWO}`, "hello"]], [ONE, TWO]],
  ["from before a compaction are kept", [[ONE], ["a summary", TWO]], [ONE, TWO]],
])("a model's texts %s", (_, conversations, wanted) => {
  expect(textsOf(conversations)).toEqual(wanted);
});
