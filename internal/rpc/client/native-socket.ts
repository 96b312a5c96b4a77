import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Duplex, pipeline } from "node:stream";

/**
 * A socket of the operating system that carries what `stream` carries, and ends with it. HTTP/2 needs one: over a
 * stream of JavaScript Node runs all its callbacks for a chunk before anything else, and a response that comes in one
 * chunk with its end is then taken for cut off.
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
    // A pipeline listens until it has ended; an error may come later.
    for (const end of [stream, far]) end.on("error", () => {});
    pipeline(stream, far, () => far.destroy());
    pipeline(far, stream, () => stream.destroy());
  });
  server.once("error", (err) => near.destroy(err));
  // Both calls have done their work when they return.
  server.listen(join(folder, "s"));
  const near = connect(join(folder, "s"));
  near.on("error", remove);
  return near;
}
