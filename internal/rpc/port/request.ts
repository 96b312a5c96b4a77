import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

/** A request over HTTP/1.1 or HTTP/2, and its response. */
export type ServerRequest = IncomingMessage | Http2ServerRequest;
export type ServerResponse12 = ServerResponse | Http2ServerResponse;
