import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import type { ConnectError } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { createEndStreamSerialization, endStreamFlag, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { DomainError } from "../../base/errors.ts";
import { connectErrorOf } from "../common/errors.ts";

type Request = Pick<IncomingMessage, "method" | "headers">;
type Response = ServerResponse | Http2ServerResponse;

/** `/package.Service/Method`, short enough to be repeated in a response. */
const METHOD_PATH = /^\/(([A-Za-z_][A-Za-z0-9_.]{0,199})\/[A-Za-z_][A-Za-z0-9_]{0,99})$/;
const endStream = createEndStreamSerialization(undefined);

/** Why no handler serves a call, by HTTP status. */
const SENTENCES: Readonly<Record<number, DomainError>> = {
  405: new DomainError("unimplemented", "this method is called with POST"),
  415: new DomainError("invalid", "the content type is not one of Connect, gRPC or gRPC-Web for this method"),
  505: new DomainError("unimplemented", "this method needs HTTP/2"),
};

/**
 * Answers a call to a method that is not served in the call's protocol; if none of `services` has the method's service,
 * the error names the service. Returns false if the request is not a call.
 */
export function refuseUnknownMethod(path: string, services: ReadonlySet<string>, req: Request, res: Response): boolean {
  const [, name, service = ""] = METHOD_PATH.exec(path) ?? [];
  const type = req.headers["content-type"] ?? "";
  if (name === undefined || req.method !== "POST" || !/^application\/(grpc|connect\+|json|proto)/.test(type))
    return false;
  const error = connectErrorOf(
    services.has(service)
      ? new DomainError("unimplemented", `this server has no method ${name}`)
      : new DomainError("unimplemented", `this server has no service ${service}`, { fields: { service } }),
  );
  if (type.startsWith("application/grpc")) answerInHead(res, type, error);
  else if (type.startsWith("application/connect+")) {
    const body = encodeEnvelope(endStreamFlag, endStream.serialize({ metadata: new Headers(), error }));
    write(res, 200, { "content-type": type }, body);
  } else write(res, 404, { "content-type": "application/json" }, errorToJsonBytes(error, undefined));
  return true;
}

/** The body of a refusal that Connect sends as a bare status; undefined if the status needs no explanation. */
export function refusalBody(status: number): Uint8Array | undefined {
  const sentence = SENTENCES[status];
  return sentence && errorToJsonBytes(connectErrorOf(sentence), undefined);
}

/** In gRPC and gRPC-Web, the headers of a response without messages are its trailers. */
function answerInHead(res: Response, type: string, error: ConnectError): void {
  const trailer = setTrailerStatus(new Headers(), error);
  write(res, 200, { "content-type": type, ...Object.fromEntries(trailer) }, new Uint8Array());
}

function write(res: Response, status: number, headers: Readonly<Record<string, string>>, body: Uint8Array): void {
  res.statusCode = status;
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  res.setHeader("content-length", body.byteLength);
  if (body.byteLength > 0) res.end(body);
  else res.end(); // over HTTP/2 the headers then end the stream
}
