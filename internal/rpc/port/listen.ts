import { chmod } from "node:fs/promises";
import type { AddressInfo, Server } from "node:net";
import { DomainError, errorText } from "../../base/errors.ts";
import { removeStaleSocket } from "./stale-socket.ts";

/** The address of a server: host and port, or a unix socket. */
export interface ListenAddress {
  /** Empty with `path`. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Path of a unix socket; host and port are then ignored. Its folder must be private to the user. */
  readonly path?: string;
}

/**
 * Node's default of 511 fills up when thousands connect at once; a probe would then wait a second for its next attempt.
 */
const BACKLOG = 4096;

/**
 * Makes `server` listen; the result contains the actual port. A unix socket has mode 0600, replaces the file of a
 * listener that is gone, and is removed by Node when the server closes.
 * @throws DomainError `unavailable` with the field `reason` = `listen`: the address is not available
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
    server.on("error", fail); // stays: a connection that cannot be accepted is reported here too, at any time
    server.listen({ ...where, backlog: BACKLOG }, resolve);
  });
}
