import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Passes connections on to a port until they are cut, at any byte and without a regular end. */
export interface CuttingProxy extends AsyncDisposable {
  readonly url: string;
  cut(): void;
}

export async function cuttingProxy(host: string, port: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, host);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on("error", () => {});
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    [Symbol.asyncDispose]: async () => {
      server.close();
      cut();
      await Promise.resolve();
    },
  };
}
