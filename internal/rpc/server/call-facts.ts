import { randomUUID } from "node:crypto";
import { type ContextKey, type ContextValues, createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { DomainError } from "../../base/errors.ts";
import type { ServerRequest } from "../port/request.ts";

/** A call as gates see it: an RPC, a request to a plain HTTP route (`rpc/routes`), or an upgraded connection. */
export interface CallContext
  extends Pick<HandlerContext, "values" | "url" | "requestHeader" | "signal" | "protocolName"> {
  readonly service: { readonly typeName: string };
  readonly method: Pick<HandlerContext["method"], "name" | "localName" | "methodKind">;
}

/** All `authorization` headers of the request: Node exposes only the first one. */
export const authorizationKey: ContextKey<readonly string[]> = createContextKey<readonly string[]>([], {
  description: "authorization headers of a call",
});

/** Identifies a call in our logs and its caller's: `x-request-id` if it is a valid id, else generated here. */
export const correlationKey: ContextKey<string> = createContextKey("", { description: "correlation id of a call" });

/**
 * Ends the call with an error, for a gate that admitted it for a limited time. Undefined: the call cannot be ended in
 * this way.
 */
export const endCallKey: ContextKey<EndCall | undefined> = createContextKey<EndCall | undefined>(undefined, {
  description: "ends a call",
});

type EndCall = (why: DomainError) => void;

const CORRELATION_ID = /^[A-Za-z0-9._-]{1,128}$/;
const AUTHORIZATION = "authorization";
const REQUEST_ID = "x-request-id";

/** Records the parts of a request that gates need and Connect does not pass on. */
export function noteFacts(values: ContextValues, { rawHeaders }: ServerRequest): ContextValues {
  const authorization: string[] = [];
  let id = "";
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    const value = rawHeaders[i + 1] ?? "";
    if (isNamed(name, AUTHORIZATION)) authorization.push(value);
    else if (isNamed(name, REQUEST_ID)) id = value;
  }
  if (authorization.length > 0) values.set(authorizationKey, authorization);
  return values.set(correlationKey, CORRELATION_ID.test(id) ? id : randomUUID());
}

function isNamed(name: string, wanted: string): boolean {
  return name.length === wanted.length && name.toLowerCase() === wanted;
}
