import { hash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { aborted } from "../../base/abort.ts";
import { DomainError, errorText } from "../../base/errors.ts";
import type { Task } from "../../base/task-group.ts";
import { revocationListsOf } from "../../pki/revocation-list.ts";
import { ConnectionShares } from "./connection-shares.ts";

export interface CrlServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Path of the list as in the certificates' CRL URL, e.g. that of `crl.url`. */
  readonly path: string;
  /** The current lists (PEM); the first one is served at `path`. Undefined: none. */
  readonly lists: () => string | undefined;
}

/** Enough, since a list is small and requested rarely; above this limit, `ConnectionShares` closes connections. */
const MAX_CONNECTIONS = 256;
/** The longest time for a request. */
const TIMEOUT_MS = 10_000;
/** How often Node checks for requests that exceed TIMEOUT_MS. */
const LOOK_EVERY_MS = 1000;

/**
 * Serves revocation lists over plain HTTP, as clients fetch them (RFC 5280 §4.2.1.13): the lists are signed and public,
 * and nothing else is served. `GET PATH` returns the first list (DER), `GET PATH.pem` all of them.
 */
export class CrlServer implements Task {
  readonly #options: CrlServerOptions;
  readonly #listening = Promise.withResolvers<{ readonly host: string; readonly port: number }>();

  constructor(options: CrlServerOptions) {
    this.#options = options;
    this.#listening.promise.catch(() => {}); // `run` throws the same error
  }

  /** The address it listens on; rejects if `run` fails. */
  get listening(): Promise<{ readonly host: string; readonly port: number }> {
    return this.#listening.promise;
  }

  /** @throws DomainError `unavailable` if it cannot listen on the address */
  async run(signal: AbortSignal): Promise<void> {
    const limits = {
      headersTimeout: TIMEOUT_MS,
      requestTimeout: TIMEOUT_MS,
      keepAliveTimeout: 5000,
      connectionsCheckingInterval: LOOK_EVERY_MS,
      maxHeaderSize: 8192,
    };
    const server = createServer(limits, (req, res) => this.#answer(req, res));
    const open = new ConnectionShares(MAX_CONNECTIONS);
    server.on("connection", (socket) => open.add(socket));
    try {
      this.#listening.resolve(await this.#listen(server));
    } catch (err) {
      this.#listening.reject(err);
      throw err;
    }
    await aborted(signal);
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  #listen(server: Server): Promise<{ host: string; port: number }> {
    const { host, port } = this.#options;
    return new Promise((resolve, reject) => {
      // A later error means that a connection could not be accepted, which the caller notices.
      server.on("error", (cause) => {
        const message = `cannot listen on ${host}:${port} for revocation lists: ${errorText(cause)}`;
        reject(new DomainError("unavailable", message, { cause }));
      });
      server.listen(port, host, () => {
        const address = server.address() as AddressInfo;
        resolve({ host: address.address, port: address.port });
      });
    });
  }

  #answer({ method, url }: IncomingMessage, res: ServerResponse): void {
    const isRead = method === "GET" || method === "HEAD";
    const found = isRead ? this.#find(url?.split("?", 1)[0]) : 405;
    if (typeof found !== "number") send(res, ...found);
    else end(found === 405 ? res.setHeader("allow", "GET, HEAD") : res, found);
  }

  /** The content type and body for a path, or the status of an error. */
  #find(asked: string | undefined): readonly [string, Buffer] | number {
    const { path, lists } = this.#options;
    if (asked !== path && asked !== `${path}.pem`) return 404;
    const text = lists();
    const [first, ...others] = text === undefined ? [] : revocationListsOf(text);
    if (first === undefined) return 503;
    if (asked === path) return ["application/pkix-crl", Buffer.from(first.der)];
    return ["application/x-pem-file", Buffer.from([first, ...others].map(({ pem }) => pem).join(""))];
  }
}

function send(res: ServerResponse, type: string, body: Buffer): void {
  res.writeHead(200, {
    "content-type": type,
    "content-length": body.length,
    "cache-control": "max-age=60",
    etag: `"${hash("sha256", body, "hex").slice(0, 32)}"`,
  });
  res.end(body);
}

function end(res: ServerResponse, status: number): void {
  res.statusCode = status;
  res.end();
}
