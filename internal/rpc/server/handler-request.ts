import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalServerRequest } from "@connectrpc/connect/protocol";
import type { ServerRequest, ServerResponse12 } from "../port/request.ts";

/** Why the signal of an answered call is aborted. One for all calls: an error takes longer to make than a request. */
const ANSWERED = new ConnectError("the call has been answered", Code.Canceled);

/**
 * What Connect's handlers take, made of Node's request. Unlike connect-node's own function it makes no error for each
 * call that ends in order, and lets the caller say what else ends a call. The authority is known to be a host name.
 */
export function handlerRequest(
  req: ServerRequest,
  parts: Pick<UniversalServerRequest, "body" | "signal" | "contextValues">,
): UniversalServerRequest {
  const protocol = "encrypted" in req.socket && req.socket.encrypted ? "https" : "http";
  return {
    httpVersion: req.httpVersion,
    method: req.method ?? "",
    url: `${protocol}://${authorityOf(req)}${req.url ?? ""}`,
    header: headersOf(req),
    ...parts,
  };
}

/** The host that a request names; empty when it names none. */
export function authorityOf(req: ServerRequest): string {
  return ("authority" in req ? req.authority : req.headers.host) ?? "";
}

/** Aborted when the request's stream has closed: over HTTP/1.1 that is the end of its response. */
export function abortedAtClose(req: ServerRequest, res: ServerResponse12): AbortController {
  const abort = new AbortController();
  const closed = () =>
    abort.abort(res.writableEnded ? ANSWERED : new ConnectError("the caller disconnected", Code.Canceled));
  if ("stream" in req) req.stream.once("close", closed);
  else {
    req.once("error", closed);
    res.once("close", closed);
  }
  return abort;
}

export function headersOf({ headers }: ServerRequest): Headers {
  const all = new Headers();
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || name.startsWith(":")) continue;
    if (Array.isArray(value)) for (const each of value) all.append(name, each);
    else all.append(name, value);
  }
  return all;
}
