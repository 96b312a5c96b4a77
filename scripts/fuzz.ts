// Damaged input to everything that reads what others wrote: the parsers in this process, or a whole sidecar.
import { parseFlags } from "../internal/cli/flags.ts";
import { runMain } from "../internal/cli/run-main.ts";
import { fuzzSidecar } from "../test/fuzz/sidecar.ts";
import { fuzz, targetNames } from "../test/fuzz/targets.ts";

const help = `Gives damaged input to what reads it, and says what came out wrong: exit code 1 when anything did.

Usage: npm run fuzz -- [flags]

  --inputs N      how many for each target (200000; with --sidecar 2000)
  --seed N        the same seed makes the same inputs (0)
  --only NAME     one target: ${targetNames.join(", ")}
  --sidecar       to a whole sidecar with tmux and an agent: requests, hook lines, the halves' sockets, and journals that the
                  serving half finds after it was killed; no restart that is not asked for, no agent lost, no error in the log
  --resume FILE   with --sidecar: keeps there how far it has come, and goes on from there
`;

await runMain({ name: "fuzz" }, async ({ argv, stdout, stderr, signal }) => {
  const { ask, values } = parseFlags(
    {
      inputs: { type: "number" },
      seed: { type: "number" },
      only: { type: "string" },
      sidecar: { type: "boolean" },
      resume: { type: "string" },
    },
    argv,
    {},
  );
  if (ask !== undefined) {
    stdout.write(help);
    return 0;
  }
  const { seed = 0, only, resume, sidecar = false } = values;
  const say = (text: string) => void stderr.write(`${text}\n`);
  const tell = (name: string, inputs: number, wrong: readonly string[]) => {
    for (const line of wrong) say(line);
    stdout.write(`${name}: ${inputs} inputs from seed ${seed}, ${wrong.length === 0 ? "0" : "at least one"} wrong\n`);
  };
  if (sidecar) {
    const { inputs = 2000 } = values;
    const wrong = await fuzzSidecar({ seed, inputs, say, ...(resume === undefined ? {} : { resume }) }, signal);
    tell("sidecar", inputs, wrong);
    return wrong.length === 0 ? 0 : 1;
  }
  const { inputs = 200_000 } = values;
  let isGood = true;
  for (const name of targetNames.filter((target) => only === undefined || target === only)) {
    const wrong = fuzz(name, seed, inputs);
    tell(name, inputs, wrong);
    isGood &&= wrong.length === 0;
  }
  return isGood ? 0 : 1;
});
