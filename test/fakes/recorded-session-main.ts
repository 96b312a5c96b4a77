// Replays a recorded terminal session (asciicast version 2, argument 1), with pauses of at most argument 2 (ms), then
// waits to be ended. Takes no input.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const [file = "", longest = "0"] = process.argv.slice(2);
const [, ...events] = readFileSync(file, "utf8").trimEnd().split("\n");
process.stdin.setRawMode?.(true);
process.stdin.resume();
let before = 0;
for (const line of events) {
  const [at, , data] = JSON.parse(line) as [number, "o", string];
  await sleep(Math.min((at - before) * 1000, Number(longest)));
  before = at;
  process.stdout.write(data);
}
