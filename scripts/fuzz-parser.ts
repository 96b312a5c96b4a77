// Feeds generated control-client streams with hostile bodies to the tmux parser: node scripts/launch.mjs
// scripts/fuzz-parser.ts [COUNT] [FIRST-SEED]. Prints one line; exit code 1 when a stream came out wrong.
import { fuzzParser } from "../test/support/tmux-parser-fuzz.ts";

const count = Number(process.argv[2] ?? 1_000_000);
const first = Number(process.argv[3] ?? 0);
const startMs = performance.now();
const wrong = fuzzParser(first, count);
for (const difference of wrong) console.error(difference);
const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
console.log(
  `${count} streams from seed ${first} in ${seconds} s: ${wrong.length === 0 ? "0" : "at least one"} desynchronised`,
);
process.exitCode = wrong.length === 0 ? 0 : 1;
