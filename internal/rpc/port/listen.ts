import { chmod } from "node:fs/promises";
import type { AddressInfo, Server } from "node:net";
import { DomainError, errorText } from "../../base/errors.ts";
import { removeStaleSocket } from "./stale-socket.ts";

/** Where a server listens: a port of a host, or a unix socket. */
export interface ListenAddress {
  /** Empty with `path`. */
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** A unix socket's; host and port mean nothing then. Its folder must be the user's alone. */
  readonly path?: string;
}

/** Node's 511 fill up when thousands connect at once; a probe would then wait a second for its next try. */
const BACKLOG = 4096;

/**
 * Makes `server` listen; the answer names the port that it got. A unix socket has mode 0600, replaces the file of a
 * listener that is gone, and is removed by Node when the server closes.
 * @throws DomainError `unavailable` with the field `reason` = `listen`: the address is not to be had
 */
export async function listen(server: Server, { host, port, path }: ListenAddress): Promise<ListenAddress> {
  if (path === undefined) {
    await listening(server, `${host}:${port}`, { port, host });
    const address = server.address() as AddressInfo;
    return { host: address.address, port: address.port };
  }
  await removeStaleSocket(path);
  await listening(server, path, { path });
  await chmod(path, 0o600);
  return { host: "", port: 0, path };
}

function listening(server: Server, name: string, where: object): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (cause: Error) => {
      const fields = { reason: "listen" };
      reject(new DomainError("unavailable", `cannot listen on ${name}: ${errorText(cause)}`, { cause, fields }));
    };
    server.once("error", fail);
    server.listen({ ...where, backlog: BACKLOG }, () => {
      server.off("error", fail);
      resolve();
    });
  });
}
