import type { IncomingMessage } from "node:http";
import type { WebSocket } from "ws";

/**
 * Waits until the socket is open, and pauses it: frames can come with the response, before anything listens. Returns
 * the response of a server that refuses the connection.
 * @throws Error if the server cannot be reached, or the socket is terminated meanwhile
 */
export async function socketOpened(socket: WebSocket): Promise<IncomingMessage | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage | undefined>();
  socket.once("open", () => {
    socket.pause();
    resolve(undefined);
  });
  socket.once("unexpected-response", (_request, response) => resolve(response));
  socket.on("error", reject); // stays, since an error without a listener ends the process; a close follows
  return await promise;
}
