import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { CallerConnections } from "../port/caller-connections.ts";
import type { ConnectionAges } from "../port/connection-ages.ts";
import type { Connections } from "../port/connections.ts";
import { hasTooManyHeaders } from "../port/header-limit.ts";
import type { ListenerHandlers } from "../port/listener.ts";
import { Pipelines } from "../port/pipelines.ts";
import type { ServerRequest } from "../port/request.ts";
import { RequestTurns } from "../port/request-turns.ts";
import { type Adapter, cutOff, refuse } from "./adapter.ts";

export interface ArrivalsDeps {
  readonly adapter: Adapter;
  readonly connections: Connections;
  readonly callers: CallerConnections;
  readonly ages: ConnectionAges;
  /** Finds the handler that takes over a connection upgraded at this path. */
  readonly upgrade: (path: string) => Upgrade | undefined;
  /** The share under which a request is counted. */
  readonly shareOf: (req: ServerRequest) => string;
  readonly shutdown: AbortSignal;
}

type Upgrade = (req: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void>;
type Arrivals = Pick<ListenerHandlers, "onRequest" | "isUpgrade" | "onUpgrade">;

/** Handles each request between its headers and its handler: checks its limits, then lets it wait for its turn. */
export function arrivals(deps: ArrivalsDeps): Arrivals {
  const { adapter, connections, callers, ages, upgrade, shareOf, shutdown } = deps;
  const pipelines = new Pipelines();
  const turns = new RequestTurns();
  return {
    onRequest(req, res) {
      if (!("stream" in req) && !pipelines.admit(req.socket, res)) return;
      if (hasTooManyHeaders(req.rawHeaders)) {
        refuse(res, 431);
        return;
      }
      // A kept-alive HTTP/1.1 connection has no GOAWAY: it ends after the current response.
      if (!("stream" in req)) {
        if ("shouldKeepAlive" in res && ages.isOld(req.socket)) res.shouldKeepAlive = false;
        res.once("finish", () => shutdown.aborted && req.socket.end());
        callers.request(connections.peerOf(req), res);
      }
      const isTaken = turns.add({
        share: shareOf(req),
        connection: ("stream" in req ? req.stream.session : undefined) ?? req.socket,
        isGone: () => ("stream" in req ? req.stream.destroyed || req.stream.closed : req.socket.destroyed),
        begin: () => adapter.handle(req, res),
      });
      if (!isTaken) cutOff(req, res);
    },
    isUpgrade: (req) => upgrade(pathOf(req)) !== undefined,
    onUpgrade(req, socket, head) {
      // An open upgraded connection counts as a call, so it is never idle.
      callers.request(connections.peerOf(req), socket);
      const run = upgrade(pathOf(req));
      const isTaken =
        run !== undefined &&
        !hasTooManyHeaders(req.rawHeaders) &&
        turns.add({
          share: shareOf(req),
          connection: socket,
          isGone: () => socket.destroyed,
          begin: () => void run(req, socket, head),
        });
      if (!isTaken) socket.destroy();
    },
  };
}

function pathOf({ url }: IncomingMessage): string {
  return url?.split("?", 1)[0] ?? "";
}
