// The pane's command: prints the content from the position where an earlier life left off, on orders over a socket. A
// line `flood N` prints N bytes at once, `pace N` N bytes a second from then on; `end` exits after the present piece.
import { readFileSync, writeFileSync, writeSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { contentAt } from "./content.ts";

const [socketPath = "", stateFile = ""] = process.argv.slice(2);
const PIECE_MS = 20;
let position = Number(readFileSync(stateFile, "utf8"));
let pace = 0;
const orders: string[] = [];
const socket = connect(socketPath);
socket.on("error", () => process.exit(0));
createInterface({ input: socket }).on("line", (line) => void orders.push(line));
process.on("SIGTERM", () => void orders.push("end"));

function print(bytes: number): void {
  for (let left = bytes; left > 0; ) {
    const piece = contentAt(position, Math.min(left, 65_536));
    for (let at = 0; at < piece.length; ) at += writeSome(piece, at);
    position += piece.length;
    left -= piece.length;
  }
  writeFileSync(stateFile, String(position));
  socket.write(`${position}\n`);
}

function writeSome(piece: Buffer, at: number): number {
  try {
    return writeSync(1, piece, at);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== "EAGAIN") throw err;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    return 0;
  }
}

for (;;) {
  for (const order of orders.splice(0)) {
    const [word, amount] = order.split(" ");
    if (word === "end") process.exit(1);
    if (word === "flood") print(Number(amount));
    if (word === "pace") pace = Number(amount);
  }
  if (pace > 0) print(1 + Math.floor(Math.random() * 2 * ((pace * PIECE_MS) / 1000)));
  await sleep(PIECE_MS);
}
