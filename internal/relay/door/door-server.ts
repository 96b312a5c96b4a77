import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { aborted } from "../../base/abort.ts";
import type { Task } from "../../base/task-group.ts";
import { type ListenAddress, listen } from "../../rpc/port/listen.ts";
import type { AgentDoor } from "./agent-door.ts";

const LIMITS = { connections: 4000, headerBytes: 16 * 1024, headersMs: 10_000, requestMs: 60_000 } as const;

/** Plaintext HTTP/1.1 for agents on this machine. */
export class DoorServer implements Task {
  readonly #door: AgentDoor;
  readonly #address: ListenAddress;
  readonly #listening = Promise.withResolvers<ListenAddress>();
  readonly #drained: Promise<void>;

  /** @param drained connections that are open are cut once it resolves */
  constructor(door: AgentDoor, address: ListenAddress, drained: Promise<void>) {
    this.#door = door;
    this.#address = address;
    this.#drained = drained;
    this.#listening.promise.catch(() => {}); // `run` throws the same
  }

  /** Where it listens; rejects when it never will. */
  get listening(): Promise<ListenAddress> {
    return this.#listening.promise;
  }

  /** @throws DomainError `unavailable` when the address cannot be listened on */
  async run(signal: AbortSignal): Promise<void> {
    const server = createServer({
      maxHeaderSize: LIMITS.headerBytes,
      headersTimeout: LIMITS.headersMs,
      requestTimeout: LIMITS.requestMs,
    });
    server.maxConnections = LIMITS.connections;
    const sockets = this.#wire(server);
    try {
      this.#listening.resolve(await listen(server, this.#address));
    } catch (err) {
      this.#listening.reject(err);
      throw err;
    }
    await aborted(signal);
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    await this.#drained;
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  #wire(server: Server): ReadonlySet<Socket> {
    const sockets = new Set<Socket>();
    server.on("connection", (socket) => {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.once("close", () => sockets.delete(socket));
    });
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#door.onRequest(request, response);
    });
    server.on("upgrade", (request, socket, head) => void this.#door.onUpgrade(request, socket, head));
    return sockets;
  }
}
