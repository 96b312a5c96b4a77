import type { Socket } from "node:net";

const MAX_LINE_BYTES = 4096;

/** Calls `onLine` with each line that comes; a longer one than any message ends the connection. */
export function onLines(socket: Socket, onLine: (line: string) => void): void {
  let pending = "";
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    pending += chunk;
    const lines = pending.split("\n");
    pending = lines.pop() ?? "";
    if (pending.length > MAX_LINE_BYTES) socket.destroy();
    for (const line of lines) onLine(line);
  });
}
