import { lstat, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import { DomainError } from "../../base/errors.ts";

/**
 * Removes the socket file of a listener that was killed; does nothing if there is no file.
 * @throws DomainError `unavailable` with the field `reason` = `listen`: another process listens there, or the file is
 * not a socket
 */
export async function removeStaleSocket(path: string): Promise<void> {
  const found = await lstat(path).catch((err: NodeJS.ErrnoException) => {
    if (err.code === "ENOENT") return undefined;
    throw refused(path, err.message, err);
  });
  if (found === undefined) return;
  if (!found.isSocket()) throw refused(path, "there is a file that is not a socket");
  if (await isAnswered(path)) throw refused(path, "another process is listening there");
  await rm(path, { force: true });
}

/** A listener that is too busy to accept counts as alive: only a refusal shows that it is gone. */
function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    const finish = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
    socket.once("connect", () => finish(true));
    socket.once("error", ({ code }: NodeJS.ErrnoException) => finish(code !== "ECONNREFUSED" && code !== "ENOENT"));
  });
}

function refused(path: string, why: string, cause?: unknown): DomainError {
  return new DomainError("unavailable", `cannot listen on ${path}: ${why}`, { cause, fields: { reason: "listen" } });
}
