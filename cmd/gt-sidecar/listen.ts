import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { DomainError } from "../../internal/base/errors.ts";
import { isLoopbackAddress } from "../../internal/base/loopback.ts";

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * Reads `127.0.0.1:9090`, `[::1]:9090`, `localhost:9090`.
 * @throws DomainError `invalid`, naming the flag.
 */
export function parseListen(text: string, flag: string): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port > 65_535) {
    throw new DomainError("invalid", `${flag} takes HOST:PORT, not ${JSON.stringify(text)}`);
  }
  return { host, port };
}

/** Nobody serves a terminal to a network in plaintext by accident. @throws DomainError `invalid` */
export function checkListen(listen: ListenAddress, trust: { readonly tls: boolean; readonly insecure: boolean }): void {
  if (trust.tls || trust.insecure || listen.host === "localhost" || isLoopbackAddress(listen.host)) return;
  throw new DomainError("invalid", `cannot serve ${listen.host} in plaintext`, {
    fields: { hint: "give --tls-dir, or say --insecure-plaintext if the network itself keeps strangers out" },
  });
}

/** Below the ports that systems give to outgoing connections, which could take a free one before it is listened on. */
const FIRST_PORT = 20_000;
const PORTS = 10_000;
const TRIES = 100;

/** Port 0 made a port that is free now: each serving half must listen on the same one as the one before. */
export async function withFixedPort(listen: ListenAddress): Promise<ListenAddress> {
  for (let i = 0; listen.port === 0 && i < TRIES; i++) {
    const port = FIRST_PORT + randomInt(PORTS);
    if (await isFree(listen.host, port)) return { host: listen.host, port };
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

export function formatListen({ host, port }: ListenAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
