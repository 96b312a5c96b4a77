import type { CallerConnections } from "../port/caller-connections.ts";
import type { ConnectionAges } from "../port/connection-ages.ts";
import type { Connections } from "../port/connections.ts";
import { hasTooManyHeaders } from "../port/header-limit.ts";
import { Pipelines } from "../port/pipelines.ts";
import type { ServerRequest, ServerResponse12 } from "../port/request.ts";
import { RequestTurns } from "../port/request-turns.ts";
import { type Adapter, cutOff, refuse } from "./adapter.ts";

export interface ArrivalsDeps {
  readonly adapter: Adapter;
  readonly connections: Connections;
  readonly callers: CallerConnections;
  readonly ages: ConnectionAges;
  /** Under which a request counts. */
  readonly shareOf: (req: ServerRequest) => string;
  readonly shutdown: AbortSignal;
}

/** What becomes of each request between its headers and its handler: it may be too much, and it waits for its turn. */
export function arrivals({ adapter, connections, callers, ages, shareOf, shutdown }: ArrivalsDeps) {
  const pipelines = new Pipelines();
  const turns = new RequestTurns();

  return (req: ServerRequest, res: ServerResponse12): void => {
    if (!("stream" in req) && !pipelines.admit(req.socket, res)) return;
    if (hasTooManyHeaders(req.rawHeaders)) {
      refuse(res, 431);
      return;
    }
    // A kept-alive HTTP/1.1 connection has no GOAWAY: it ends with the answer under way.
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
  };
}
