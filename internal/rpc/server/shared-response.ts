import type { ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import { type ContextKey, createContextKey } from "@connectrpc/connect";

type Response = ServerResponse | Http2ServerResponse | undefined;

/** The response to which a call's messages are written; set by the adapter. */
export const responseKey: ContextKey<Response> = createContextKey<Response>(undefined, {
  description: "the response of a call",
});
