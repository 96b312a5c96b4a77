// Attacks a desk for as long as you want, and prints what it has shown.
//
//   npm run lab:desk -- --seconds 60 --count 40
import { parseFlags } from "../../../internal/cli/flags.ts";
import { randomFrom } from "../../fuzz/random.ts";
import { killWhileCrossing } from "./kills.ts";
import { raceReads } from "./races.ts";

const { values } = parseFlags(
  { seconds: { type: "number" }, count: { type: "number" }, seed: { type: "number" } },
  process.argv.slice(2),
  {},
);
const { seconds = 30, count = 20, seed = 1 } = values;
const end = performance.now() + seconds * 1000;
const races = raceReads(() => performance.now() > end);
process.stdout.write(`${JSON.stringify({ races })}\n`);
const kills = await killWhileCrossing(count, randomFrom(seed));
process.stdout.write(`${JSON.stringify({ kills })}\n`);
process.exitCode = races.leaked + kills.wrong.length === 0 ? 0 : 1;
