import type { Socket } from "node:net";
import type { OpenStream } from "../../tmux/control/byte-stream.ts";

/** The streams of control clients that the supervising half runs, one for each connection: see `ClientListener`. */
export function clientStreams(connect: () => Socket): OpenStream {
  return (events) => {
    const socket = connect();
    let reason = "the tmux client ended";
    socket.on("data", (chunk: Buffer) => events.onBytes(chunk));
    socket.on("error", (err) => {
      reason = `cannot reach the supervising half: ${err.message}`;
    });
    socket.on("close", () => events.onClosed(reason));
    return {
      write: (text) => socket.write(text),
      end: () => socket.end(),
      destroy: () => socket.destroy(),
    };
  };
}
