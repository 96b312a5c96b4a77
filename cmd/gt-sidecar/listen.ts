import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { DomainError } from "../../internal/base/errors.ts";
import { isLoopbackHost } from "../../internal/base/loopback.ts";
import { hostPort } from "../../internal/base/text/host-name.ts";
import type { ListenAddress } from "../../internal/rpc/port/listen.ts";
import { parseAddress } from "../../internal/rpc/port/parse-address.ts";
import { checkSocketFolder, readSocketPath } from "./socket-folder.ts";

const UNIX = "unix:";

/**
 * Reads `127.0.0.1:9090`, `[::1]:9090`, `localhost:9090`, and, if `unix` is true, `unix:PATH`.
 * @throws DomainError `invalid`, naming the flag.
 */
export function parseListen(text: string, flag: string, { unix = false } = {}): ListenAddress {
  if (unix && text.startsWith(UNIX)) return { host: "", port: 0, path: readSocketPath(text.slice(UNIX.length), flag) };
  const address = parseAddress(text);
  if (address !== undefined) return address;
  const forms = unix ? "HOST:PORT or unix:PATH" : "HOST:PORT";
  throw new DomainError("invalid", `${flag} takes ${forms}, not ${JSON.stringify(text)}`);
}

/**
 * Rejects a listener that would by accident serve a terminal in plaintext to a network or to other users of this
 * machine.
 * @throws DomainError `invalid`
 */
export function checkListen(listen: ListenAddress, trust: { readonly tls: boolean; readonly insecure: boolean }): void {
  const { path } = listen;
  if (path !== undefined && trust.tls)
    throw new DomainError("invalid", "a unix socket is served without TLS: omit --tls-dir (GT_TLS_DIR)");
  if (path !== undefined) checkSocketFolder(path);
  if (path !== undefined || trust.tls || trust.insecure || isLoopbackHost(listen.host)) return;
  throw new DomainError("invalid", `cannot serve ${listen.host} in plaintext`, {
    fields: { hint: "give --tls-dir, or --insecure-plaintext if the network itself keeps strangers out" },
  });
}

/**
 * Below the range from which systems assign ports to outgoing connections, so that none of them takes the port before
 * we listen.
 */
const FIRST_PORT = 20_000;
const PORTS = 10_000;
const TRIES = 100;

/**
 * Replaces port 0 with a port that is free now and is not `taken`: each serving half must listen on the same port as
 * the one before. `pick` gives a random number below its argument.
 */
export async function withFixedPort(
  listen: ListenAddress,
  taken = 0,
  pick: (below: number) => number = (below) => randomInt(below),
): Promise<ListenAddress> {
  if (listen.path !== undefined) return listen;
  for (let i = 0; listen.port === 0 && i < TRIES; i++) {
    const port = FIRST_PORT + pick(PORTS);
    if (port !== taken && (await isFree(listen.host, port))) return { host: listen.host, port };
  }
  return listen;
}

async function isFree(host: string, port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

export function formatListen({ host, port, path }: ListenAddress): string {
  if (path !== undefined) return `${UNIX}${path}`;
  return hostPort(host, port);
}
