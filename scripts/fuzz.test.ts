import { expect, it } from "vitest";
import { fuzz, targetNames } from "../test/fuzz/targets.ts";

/** The number of inputs of `npm run fuzz` that every test run tries. */
const SHARE: Readonly<Record<string, number>> = { journal: 1500 };

/** The stream of tmux is left to `control-parser.test.ts`, which reads ten times as many inputs. */
const names = targetNames.filter((name) => name !== "tmux");

it.each(names)(
  "%s: damaged input is never accepted as valid, and never ends the reader",
  { timeout: 30_000 },
  (name) => {
    expect(fuzz(name, 0, SHARE[name] ?? 10_000)).toEqual([]);
  },
);
