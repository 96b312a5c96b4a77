import type { Socket } from "node:net";
import { firstOf } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** No HTTP/1 method begins with this many bytes of the preface. */
const ENOUGH = 4;

/**
 * The HTTP version that a connection's first bytes show; undefined while both are possible.
 * @internal
 */
export function httpVersionOf(bytes: Uint8Array): "1" | "2" | undefined {
  const length = Math.min(bytes.length, ENOUGH);
  if (PREFACE.compare(bytes, 0, length, 0, length) !== 0) return "1";
  return length < ENOUGH ? undefined : "2";
}

/**
 * Reads a new connection's first bytes, puts them back, and returns their HTTP version. If the peer disconnects first
 * or has not sent enough within `timeoutMs`, destroys the socket and returns undefined.
 */
export async function sniffHttpVersion(
  socket: Socket,
  clock: Clock,
  timeoutMs: number,
): Promise<"1" | "2" | undefined> {
  const version = await firstOf(
    undefined,
    (stop) => firstBytesOf(socket, stop),
    (stop) => clock.sleep(timeoutMs, stop).then(() => undefined),
  );
  if (version === undefined) socket.destroy();
  return version;
}

function firstBytesOf(socket: Socket, signal: AbortSignal): Promise<"1" | "2" | undefined> {
  return new Promise((resolve) => {
    let seen = Buffer.alloc(0);
    const finish = (version: "1" | "2" | undefined) => {
      socket.off("readable", onReadable).off("end", onEnd).off("close", onEnd);
      resolve(version);
    };
    const onEnd = () => finish(undefined);
    const onReadable = () => {
      const chunk: Buffer | null = socket.read();
      if (chunk === null) return;
      seen = Buffer.concat([seen, chunk]);
      const version = httpVersionOf(seen);
      if (version === undefined) return;
      socket.unshift(seen);
      finish(version);
    };
    socket.on("readable", onReadable).on("end", onEnd).on("close", onEnd);
    signal.addEventListener("abort", onEnd, { once: true });
  });
}
