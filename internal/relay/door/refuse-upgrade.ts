import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { Refusal } from "./upgrade-place.ts";

/** Answers an upgrade with an HTTP refusal and ends the connection. */
export function refuseUpgrade(socket: Duplex, { status, reason }: Refusal): void {
  if (socket.destroyed) return;
  const body = `${reason}\n`;
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "Connection: close",
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(status === 426 ? ["Upgrade: websocket"] : []),
    ...(status === 429 || status === 503 ? ["Retry-After: 1"] : []),
  ];
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`);
}
