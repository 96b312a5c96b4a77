import { expect, it } from "vitest";
import { fuzz, targetNames } from "../test/fuzz/targets.ts";

/** The share of `npm run fuzz` that every run of the tests has. */
const SHARE: Readonly<Record<string, number>> = { journal: 1500 };

/** Of tmux's stream `control-parser.test.ts` reads ten times as many. */
const names = targetNames.filter((name) => name !== "tmux");

it.each(names)(
  "%s: no damaged input is taken for what it is not, and none ends the reader",
  { timeout: 30_000 },
  (name) => {
    expect(fuzz(name, 0, SHARE[name] ?? 10_000)).toEqual([]);
  },
);
