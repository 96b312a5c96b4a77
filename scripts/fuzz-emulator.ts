// Prints generated sequences on a real tmux and on the emulator, compares both screens, and lists the differences.
import { parseFlags } from "../internal/cli/flags.ts";
import { runMain } from "../internal/cli/run-main.ts";
import { fuzzEmulator, UNKNOWN } from "../test/support/screens/emulator-fuzz.ts";

const help = `Compares the emulator with tmux over generated sequences, and lists why what differs does so. Ends with 1 when something
differs that is not explained.

Usage: node scripts/launch.mjs scripts/fuzz-emulator.ts [flags]

  --sequences N   how many (100000)
  --seed N        the same seed makes the same sequences (1)
`;

await runMain({ name: "fuzz-emulator" }, async ({ argv, stdout, stderr, signal }) => {
  const { ask, values } = parseFlags({ sequences: { type: "number" }, seed: { type: "number" } }, argv, {});
  if (ask !== undefined) {
    stdout.write(help);
    return 0;
  }
  const { sequences = 100_000, seed = 1 } = values;
  const say = (text: string) => void stderr.write(`${text}\n`);
  const { compared, kinds } = await fuzzEmulator({ sequences, seed, say }, signal);
  stdout.write(`${compared} sequences\n`);
  for (const [kind, { count, example }] of [...kinds].sort(([, a], [, b]) => b.count - a.count)) {
    stdout.write(`${String(count).padStart(7)}  ${kind}  ${JSON.stringify(example)}\n`);
  }
  return [...kinds.keys()].some((kind) => kind.startsWith(UNKNOWN)) ? 1 : 0;
});
