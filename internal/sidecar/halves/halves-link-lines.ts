import type { Socket } from "node:net";
import { LineCutter } from "../../base/text/line-cutter.ts";

/** Longer than any message. */
const MAX_LINE_BYTES = 4096;
/** A peer that sends and does not read is cut off at this many unread bytes. */
const MAX_UNREAD_BYTES = 64 * 1024;

/** Calls `onLine` with each line received. A line longer than any message ends the connection, after `onTooLong`. */
export function onLines(socket: Socket, onLine: (line: string) => void, onTooLong: () => void = () => {}): void {
  const cutter = new LineCutter(MAX_LINE_BYTES);
  socket.on("data", (chunk: Buffer) => {
    const lines = cutter.push(chunk);
    if (cutter.lostBytes > 0 || lines.some(({ lostBytes }) => lostBytes > 0)) {
      onTooLong();
      socket.destroy();
      return;
    }
    for (const { bytes } of lines) onLine(bytes.toString("utf8"));
  });
}

/** Writes a message as one line. Disconnects a peer that does not read. */
export function writeLine(socket: Socket, message: object): void {
  if (socket.writableLength > MAX_UNREAD_BYTES) socket.destroy();
  else socket.write(`${JSON.stringify(message)}\n`);
}
