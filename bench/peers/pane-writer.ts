// The pane's command: on orders from a socket, writes text straight to the terminal, and reports when it did so.
import { writeSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { markLine } from "../marks.ts";
import { seeded } from "../stats.ts";

const BLOCK_BYTES = 1024 * 1024;
const socket = connect(process.argv[2] ?? "");
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;
const lines = textLines(BLOCK_BYTES);

for await (const line of createInterface({ input: socket })) {
  const [op, amount = 0] = [line.split(" ")[0], Number(line.split(" ")[1])];
  const startedAt = nowMs();
  if (op === "flood") flood(amount);
  if (op === "ticking-flood") tickingFlood(amount);
  if (op === "flood-until-interrupted") await floodUntilInterrupted();
  if (op === "tick") await tick(amount);
  socket.write(`${JSON.stringify({ startedAt, endedAt: nowMs() })}\n`);
}

function flood(bytes: number): void {
  for (let written = 0; written < bytes; written += lines.length) put(lines);
  put(Buffer.from(markLine("end", 0)));
}

/** The flood contains marks with the time at which each was written. */
function tickingFlood(bytes: number): void {
  const piece = lines.subarray(0, lines.lastIndexOf("\n", BLOCK_BYTES / 4) + 1);
  for (let written = 0; written < bytes; written += piece.length) {
    put(Buffer.from(markLine("tick", nowMs())));
    put(piece);
  }
  put(Buffer.from(markLine("end", 0)));
}

/** Writes until Ctrl-C is pressed. */
async function floodUntilInterrupted(): Promise<void> {
  let isInterrupted = false;
  process.once("SIGINT", () => {
    isInterrupted = true;
  });
  while (!isInterrupted) {
    put(lines.subarray(0, 16_384));
    await nextTurn();
  }
  put(Buffer.from(`\n${markLine("end", 0)}`));
}

/** Writes at irregular times, so that they do not coincide with any period. */
async function tick(count: number): Promise<void> {
  const random = seeded(count);
  for (let i = 0; i < count; i++) {
    await sleep(15 + 40 * random());
    put(Buffer.from(markLine("tick", nowMs())));
  }
}

function put(bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at, Math.min(65_536, bytes.length - at));
}

function textLines(bytes: number): Buffer {
  const random = seeded(30);
  let text = "";
  while (text.length < bytes) {
    const words = Array.from({ length: 4 + Math.floor(random() * 14) }, () => Math.floor(random() * 1e8).toString(36));
    text += `${words.join(" ")}\n`;
  }
  return Buffer.from(text);
}
