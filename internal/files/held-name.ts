import { createServer } from "node:net";

/**
 * Takes a name in the kernel's table of sockets, where it lasts as long as its process; holding it does not keep the
 * process running. On Linux, the name is unique among the processes of one network namespace; on other systems every
 * call succeeds.
 * @param name the name of an abstract socket, which begins with NUL
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
