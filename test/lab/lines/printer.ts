// The pane's command: takes orders over a socket, prints numbered lines or changes the terminal, and answers each order
// once its output is written. Orders, one per line: `lines N`, `alternate on`, `alternate off`, `clear`, `clear
// history`, `exit`.
import { readFileSync, writeFileSync, writeSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { lineAt } from "./numbered-line.ts";

const [socketPath = "", stateFile = ""] = process.argv.slice(2);
let next = Number(readFileSync(stateFile, "utf8"));
const socket = connect(socketPath);
socket.on("error", () => process.exit(0));
socket.on("close", () => process.exit(0));

function print(text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== "EAGAIN") throw err;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

const ORDERS: Readonly<Record<string, () => void>> = {
  "alternate on": () => print(`\x1b[?1049h\x1b[H\x1b[2Jan editor\r\n~\r\n~\r\n`),
  "alternate off": () => print("\x1b[?1049l"),
  clear: () => print("\x1b[2J\x1b[H"),
  "clear history": () => print("\x1b[2J\x1b[3J\x1b[H"),
  exit: () => process.exit(1),
};

createInterface({ input: socket }).on("line", (order) => {
  const count = /^lines (\d+)$/.exec(order)?.[1];
  if (count === undefined) ORDERS[order]?.();
  else {
    for (const end = next + Number(count); next < end; next++) print(`${lineAt(next)}\r\n`);
    writeFileSync(stateFile, String(next));
  }
  socket.write("done\n");
});
