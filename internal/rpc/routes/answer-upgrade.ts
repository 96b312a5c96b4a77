import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { DomainError } from "../../base/errors.ts";
import { authorityOf, headersOf } from "../server/handler-request.ts";
import type { PlainDeps } from "./answer-route.ts";
import { cutAfterEnd } from "./call-end.ts";
import { type Refusal, refusalOf } from "./refusal.ts";
import type { UpgradeRoute } from "./route.ts";

export interface Arrival {
  readonly req: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/**
 * Checks a request for a WebSocket with the guard and passes its socket to the route; a refusal is an HTTP response.
 */
export async function answerUpgrade(
  { clock, guard }: PlainDeps,
  route: UpgradeRoute,
  { req, socket, head }: Arrival,
): Promise<void> {
  const { service = "http", path } = route;
  const abort = new AbortController();
  const closed = new AbortController();
  const onClosed = (fn: () => void) => void socket.once("close", fn);
  onClosed(() => {
    closed.abort();
    abort.abort(new DomainError("cancelled", "the caller disconnected"));
  });
  const name = { service, method: `upgrade ${path}`, protocol: "websocket" } as const;
  let isTaken = false;
  const take = () => {
    isTaken = true;
    return { socket, head };
  };
  const url = `http://${authorityOf(req)}${req.url ?? ""}`;
  try {
    if (!URL.canParse(url)) throw new DomainError("invalid", "the request names no host");
    const context = await guard.admit(req, { ...name, url, header: headersOf(req), abort, onClosed });
    if (context === undefined) throw new DomainError("exhausted", "too many calls at a time");
    void cutAfterEnd(clock, abort.signal, closed.signal, () => socket.destroy());
    const unwanted = await route.handle({ req, take }, context);
    if (isTaken) return;
    if (unwanted === undefined) throw new DomainError("not-found", "there is nothing here");
    const headers = Object.fromEntries(unwanted.headers);
    refuseUpgrade(socket, { status: unwanted.status, headers, body: await unwanted.bytes() });
  } catch (err) {
    if (closed.signal.aborted) return;
    const refusal = refusalOf(err, { place: route, url, name: `${service}/${name.method}` }, guard.logger);
    if (isTaken) socket.destroy();
    else refuseUpgrade(socket, refusal);
  }
}

function refuseUpgrade(socket: Duplex, { status, headers, body }: Refusal): void {
  const all = { ...headers, "content-length": String(body.byteLength), connection: "close" };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  socket.write(`HTTP/1.1 ${[`${status} ${STATUS_CODES[status] ?? ""}`, ...lines].join("\r\n")}\r\n\r\n`);
  socket.end(body);
}
