import { expect, it } from "vitest";
import { mayTypeAgain } from "./second-look.ts";

it.each([
  ["an idle agent with an empty composer", { alive: true, state: "idle", draft: false }, true],
  ["a draft, which may be the text itself", { alive: true, state: "idle", draft: true }, false],
  ["a busy agent, which may work on it", { alive: true, state: "busy", draft: false }, false],
  ["a dialog", { alive: true, state: "dialog", draft: false }, false],
  ["a parked agent", { alive: true, state: "parked", draft: false }, false],
  ["an agent that has ended", { alive: false, state: "idle", draft: false }, false],
  ["a runtime that does not answer", undefined, false],
])("a text without proof before %s", (_, status, may) => {
  expect(mayTypeAgain(status)).toBe(may);
});
