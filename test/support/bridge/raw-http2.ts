import { connect, type Socket } from "node:net";

/** An HTTP/2 client that sends the preface and empty SETTINGS, and then never answers, not even a PING. */
export function muteHttp2Client(port: number): Socket {
  const emptySettings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  const socket = connect(port, "127.0.0.1");
  socket.write(Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1"), emptySettings]));
  return socket.resume();
}

/** Sends some bytes, then stays silent; resolves with the time for which the server kept the connection, ms. */
export async function silentAfter(port: number, bytes: string): Promise<number> {
  const socket = connect(port, "127.0.0.1");
  const start = performance.now();
  if (bytes !== "") socket.write(bytes, "latin1");
  socket.resume().on("error", () => {});
  await new Promise((resolve) => socket.once("close", resolve));
  return performance.now() - start;
}
