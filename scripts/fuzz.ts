// Feeds damaged input to every parser of foreign data, in this process or in a whole sidecar.
import { parseFlags } from "../internal/cli/flags.ts";
import { runMain } from "../internal/cli/run-main.ts";
import { fuzzSidecar } from "../test/fuzz/sidecar.ts";
import { fuzz, targetNames } from "../test/fuzz/targets.ts";

const help = `Feeds damaged input to the parsers and reports each wrong result. Exits 1 if there is one.

Usage: npm run fuzz -- [flags]

  --inputs N      inputs for each target (200000; with --sidecar 2000)
  --seed N        seed of the inputs (0)
  --only NAME     one target: ${targetNames.join(", ")}
  --sidecar       feeds a whole sidecar with tmux and an agent: requests, hook lines, lines to the halves' sockets, and journals that
                  the serving half reads after it was killed. There must be no other restart, no lost agent, no error in the log
  --resume FILE   with --sidecar: stores the progress in this file and continues from it
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
    const wrong = await fuzzSidecar({ seed, inputs, say, resume }, signal);
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
