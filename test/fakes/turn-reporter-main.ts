// Loaded into a program by `--import`: measures the longest turn of its event loop between two SIGUSR2, and writes it,
// in milliseconds of processor time, into the file TURN_FILE.
import { writeFileSync } from "node:fs";
import { LongestTurn } from "../support/sidecar/longest-turn.ts";

let turn: LongestTurn | undefined;
process.on("SIGUSR2", () => {
  if (turn === undefined) turn = new LongestTurn();
  else writeFileSync(process.env["TURN_FILE"] ?? "", `${turn.ms}\n`);
});
