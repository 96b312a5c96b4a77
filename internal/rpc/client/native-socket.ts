import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Duplex, pipeline } from "node:stream";

/**
 * A socket of the operating system that forwards the bytes of `stream` in both directions, and ends with it. HTTP/2
 * needs one: on a JavaScript stream, Node runs all callbacks for a chunk before anything else, so a response that
 * arrives together with its end in one chunk is reported as cut off.
 */
export function nativeSocket(stream: Duplex): Socket {
  const folder = mkdtempSync(join(tmpdir(), "gt-")); // mode 0700: no other user can connect
  const server = createServer();
  const remove = () => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  };
  server.once("connection", (far) => {
    remove();
    // `pipeline` removes its error listeners when it ends; an error may come later.
    for (const end of [stream, far]) end.on("error", () => {});
    pipeline(stream, far, () => far.destroy());
    pipeline(far, stream, () => stream.destroy());
  });
  server.once("error", (err) => near.destroy(err));
  // Both calls are complete when they return.
  server.listen(join(folder, "s"));
  const near = connect(join(folder, "s"));
  near.on("error", remove);
  return near;
}
