import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalServerRequest } from "@connectrpc/connect/protocol";
import type { ServerRequest, ServerResponse12 } from "../port/request.ts";

/** The abort reason of an answered call. Shared, because creating an error takes longer than a request. */
const ANSWERED = new ConnectError("the call has been answered", Code.Canceled);

/**
 * Converts Node's request for Connect's handlers. Unlike connect-node's own function, it creates no error for each call
 * that ends normally, and lets the caller determine what else ends a call. The authority must be a valid host name.
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

/** The host that a request names; empty: none. */
export function authorityOf(req: ServerRequest): string {
  return ("authority" in req ? req.authority : req.headers.host) ?? "";
}

/** Aborted when the request's stream has closed; over HTTP/1.1, at the end of its response. */
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
