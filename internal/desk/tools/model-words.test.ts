import { expect, it } from "vitest";
import { wordsOf } from "./model-words.ts";

it("leaves out calls, results and notices", () => {
  const printed = "● Conversation 1\n● read_file(/docs/a)\n  ⎿ one\n    two\nWe close at five.\n\n    a quote\n";
  expect(wordsOf(printed)).toBe("We close at five.\n\n    a quote");
});
