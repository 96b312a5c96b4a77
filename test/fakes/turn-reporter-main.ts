// Loaded into a program by `--import`: from one SIGUSR2 to the next it measures the longest turn of its event loop, and
// writes that, in milliseconds of processor time, into the file TURN_FILE.
import { writeFileSync } from "node:fs";
import { LongestTurn } from "../support/sidecar/longest-turn.ts";

let turn: LongestTurn | undefined;
process.on("SIGUSR2", () => {
  if (turn === undefined) turn = new LongestTurn();
  else writeFileSync(process.env["TURN_FILE"] ?? "", `${turn.ms}\n`);
});
