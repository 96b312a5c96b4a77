import { createServer } from "node:net";

/**
 * Takes a name in the kernel's table of sockets, where it lasts as long as its process; it keeps no process from
 * ending. It is unique among the processes of one network namespace, on Linux; elsewhere every call succeeds.
 * @param name an abstract socket's: begins with NUL
 * @returns undefined if the name is taken
 */
export function holdName(name: string): Promise<AsyncDisposable | undefined> {
  if (process.platform !== "linux") return Promise.resolve({ [Symbol.asyncDispose]: async () => {} });
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.on("error", (err: NodeJS.ErrnoException) => {
      if (err.code === "EADDRINUSE") resolve(undefined);
      else reject(err);
    });
    server.listen(name, () => {
      server.unref();
      resolve({ [Symbol.asyncDispose]: () => new Promise((closed) => server.close(() => closed())) });
    });
  });
}
