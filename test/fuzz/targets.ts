import { checkHooks } from "./hooks.ts";
import { journalFuzz } from "./journal.ts";
import { checkLink } from "./link.ts";
import { checkTmuxStream } from "./tmux-parser.ts";
import { checkWire } from "./wire.ts";

/** The parsers of foreign input, by name. A check returns the fault that the seed's input causes; undefined: none. */
const TARGETS: Readonly<Record<string, (seed: number) => string | undefined>> = {
  tmux: checkTmuxStream,
  link: checkLink,
  hooks: checkHooks,
  wire: checkWire,
};

export const targetNames: readonly string[] = [...Object.keys(TARGETS), "journal"];

/** Checks `count` seeds from `first` on; returns the first few faults. An exception from a parser is a fault too. */
export function fuzz(target: string, first: number, count: number): readonly string[] {
  using journal = target === "journal" ? journalFuzz() : undefined;
  const check = journal?.check ?? TARGETS[target];
  if (check === undefined) throw new Error(`no target ${target}`);
  const wrong: string[] = [];
  for (let seed = first; seed < first + count && wrong.length < 5; seed++) {
    const difference = checkSafely(check, seed);
    if (difference !== undefined) wrong.push(`${target}, seed ${seed}: ${difference}`);
  }
  return wrong;
}

function checkSafely(check: (seed: number) => string | undefined, seed: number): string | undefined {
  try {
    return check(seed);
  } catch (err) {
    return err instanceof Error ? (err.stack ?? err.message) : String(err);
  }
}
