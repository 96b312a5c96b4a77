// Draws docs/pictures/session.svg, the picture at the top of the README, from docs/pictures/session.json.
//
//   node scripts/launch.mjs scripts/pictures/draw-session.ts            draw the recording
//   node scripts/launch.mjs scripts/pictures/draw-session.ts --record   run the commands again and draw their output
//   node scripts/launch.mjs scripts/pictures/draw-session.ts --check    exit 1 if picture and recording differ
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "../step.ts";
import { COLUMNS, type CommandScene, recordSession } from "./record-session.ts";
import { terminalSvg } from "./terminal-svg.ts";

const RECORDING = join(root, "docs", "pictures", "session.json");
const PICTURE = join(root, "docs", "pictures", "session.svg");
const PROMPT = "\x1b[2m$\x1b[0m ";

function drawing(scenes: readonly CommandScene[]): string {
  const lines = scenes.flatMap(({ command, lines: printed }, i) => [
    ...(i === 0 ? [] : [""]),
    `${PROMPT}\x1b[1m${command}\x1b[0m`,
    ...printed,
  ]);
  return terminalSvg("gt delivers messages to an agent, and says what became of each", lines, COLUMNS);
}

if (process.argv.includes("--record")) {
  await writeFile(RECORDING, `${JSON.stringify(await recordSession(), null, 2)}\n`);
}
const wanted = drawing(JSON.parse(await readFile(RECORDING, "utf8")) as readonly CommandScene[]);
if (!process.argv.includes("--check")) {
  await writeFile(PICTURE, wanted);
} else if ((await readFile(PICTURE, "utf8")) !== wanted) {
  console.error("docs/pictures/session.svg is not drawn from session.json; run: npm run picture");
  process.exitCode = 1;
}
