import type { Socket } from "node:net";

/** Longer than any message. */
const MAX_LINE_BYTES = 4096;
/** A peer that sends and does not read is cut off at this many bytes. */
const MAX_UNREAD_BYTES = 64 * 1024;

/** Calls `onLine` with each line received. A line longer than any message ends the connection, after `onTooLong`. */
export function onLines(socket: Socket, onLine: (line: string) => void, onTooLong: () => void = () => {}): void {
  let pending = "";
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    const lines = (pending + chunk).split("\n");
    pending = lines.pop() ?? "";
    for (const line of [...lines, pending]) {
      if (line.length <= MAX_LINE_BYTES) continue;
      pending = "";
      onTooLong();
      socket.destroy();
      return;
    }
    for (const line of lines) onLine(line);
  });
}

/** Writes a message as one line. Disconnects a peer that does not read. */
export function writeLine(socket: Socket, message: object): void {
  if (socket.writableLength > MAX_UNREAD_BYTES) socket.destroy();
  else socket.write(`${JSON.stringify(message)}\n`);
}
