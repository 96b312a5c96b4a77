import { constants } from "node:http2";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  type ContextValues,
  createConnectRouter,
} from "@connectrpc/connect";
import { createAsyncIterable, type UniversalServerResponse } from "@connectrpc/connect/protocol";
import { universalResponseToNodeResponse } from "@connectrpc/connect-node";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { connectErrorOf, type FieldsOfKind } from "../common/errors.ts";
import { mapFailures } from "../common/map-failures.ts";
import { refuseStream } from "../port/caller-connections.ts";
import type { ServerRequest, ServerResponse12 } from "../port/request.ts";
import { heldAnswer, heldBody, heldMessages } from "./bodies.ts";
import { type Call, callKey } from "./calls.ts";
import { describeErrors } from "./described-errors.ts";
import { abortedAtClose, authorityOf, handlerRequest } from "./handler-request.ts";
import { refusalBody, refuseUnknownMethod } from "./not-served.ts";
import { responseKey } from "./shared-response.ts";

/** Registers services on a router; rooms export these, and `cmd` passes them to the server. */
export type Routes = (router: ConnectRouter) => void;

export interface AdapterOptions extends ConnectRouterOptions {
  readonly routes: Routes;
  readonly contextValues: (req: ServerRequest) => ContextValues;
  /** Called when a call begins; the result is notified of its end. Undefined: the call is cut off. */
  readonly enter: (values: ContextValues) => Call | undefined;
  /** Called when a call begins, with a controller to end it. `abort` is aborted when the call's stream has closed. */
  readonly began: (values: ContextValues, abort: AbortController, unary: boolean) => void;
  /** Adds our ErrorInfo to the details of every error, including those that Connect itself makes. Default true. */
  readonly describesErrors?: boolean;
  /** Default: none. */
  readonly errorFields?: FieldsOfKind | undefined;
  /** Finds a handler for requests to a path that is not an RPC's. */
  readonly plain?:
    | ((path: string) => ((req: ServerRequest, res: ServerResponse12) => Promise<void>) | undefined)
    | undefined;
  /** Answers requests that are not RPCs of this server. Default: 404. */
  readonly fallback?: ((req: ServerRequest, res: ServerResponse12) => void | Promise<void>) | undefined;
}

export interface Adapter {
  handle(req: ServerRequest, res: ServerResponse12): void;
  /** Paths of methods whose request may stay open without a limit. */
  readonly openEndedPaths: ReadonlySet<string>;
}

/**
 * Connects Node's requests to Connect's handlers. Unlike connect-node's own adapter, it survives a request whose
 * authority is not a host name, ends a response whose handler failed, and logs to our log instead of the console.
 */
export function createAdapter(logger: Logger, options: AdapterOptions): Adapter {
  const { routes, contextValues, enter, began, plain, fallback = notFound, ...rest } = options;
  const { describesErrors = true, errorFields, ...routerOptions } = rest;
  const router = createConnectRouter(routerOptions);
  routes(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  const services = new Set(router.handlers.map(({ service }) => service.typeName));
  const openEnded = router.handlers.filter(({ method: { methodKind: kind } }) => /^(client|bidi)_/.test(kind));
  const openEndedPaths = new Set(openEnded.map(({ requestPath }) => requestPath));

  async function answer(path: string, req: ServerRequest, res: ServerResponse12): Promise<void> {
    const handler = handlers.get(path);
    if (handler === undefined) {
      const route = plain?.(path);
      if (route !== undefined) return route(req, res);
      return refuseUnknownMethod(path, services, req, res) ? undefined : fallback(req, res);
    }
    if (!URL.canParse(`http://${authorityOf(req)}`)) return refuse(res, 400);
    const values = contextValues(req).set(responseKey, res);
    const call = enter(values);
    if (call === undefined) return cutOff(req, res);
    ("stream" in req ? req.stream : res).once("close", () => call.closed());
    values.set(callKey, call);
    try {
      const body = (openEndedPaths.has(path) ? heldMessages : heldBody)(bodyOf(req), call);
      const abort = abortedAtClose(req, res);
      began(values, abort, handler.method.methodKind === "unary");
      const answer = await handler(handlerRequest(req, { body, signal: abort.signal, contextValues: values }));
      const { body: answered, ...head } = describesErrors
        ? await describeErrors(withBody(answer), errorFields)
        : answer;
      await universalResponseToNodeResponse({ ...head, ...(answered && { body: heldAnswer(answered, call) }) }, res);
    } finally {
      call.answered();
    }
  }

  return {
    openEndedPaths,
    handle(req, res) {
      ("stream" in req ? req.stream : res).once("finish", () => discardRest(req));
      const path = req.url?.split("?", 1)[0] ?? "";
      answer(path, req, res).catch((err: unknown) => {
        if (isOverload(err) && "stream" in req) return refuseStream(req.stream, constants.NGHTTP2_ENHANCE_YOUR_CALM);
        if (!res.writableEnded) refuse(res, 500);
        if (!isHangUp(err)) logger.error({ err, path }, "a request could not be answered");
      });
    },
  };
}

/**
 * The body of a request. It stays open when its reader stops: a handler may respond before it has read everything. Over
 * HTTP/1.1 the rest precedes the connection's next request; over HTTP/2 the sender waits for flow-control window to
 * send the rest, and may not look at the response before it has. So the rest is read after the response is sent.
 */
export function bodyOf(req: ServerRequest): AsyncIterable<Uint8Array> {
  return mapFailures(req.iterator({ destroyOnReturn: false }), brokenOff);
}

/** Reading a request fails only if its caller disconnects or the connection breaks. */
function brokenOff(cause: unknown): ConnectError {
  return connectErrorOf(
    new DomainError("cancelled", "the caller disconnected before its request was complete", { cause }),
  );
}

/**
 * A client that has sent this much since our response has received the response: over HTTP/2 its request can then be
 * cut without losing the response.
 */
const MAX_DISCARDED_BYTES = 1024 * 1024;

function discardRest(req: ServerRequest): void {
  let discarded = 0;
  const discard = () => {
    for (let chunk = req.read(); chunk !== null; chunk = req.read()) discarded += chunk.length;
    if ("stream" in req && discarded > MAX_DISCARDED_BYTES) req.stream.close(constants.NGHTTP2_NO_ERROR);
  };
  if (req.readableEnded) return;
  req.on("readable", discard);
  discard();
}

/** True if the caller disconnected while we were writing, which is not an error. */
export function isHangUp(err: unknown): boolean {
  const { code, cause } = ConnectError.from(err);
  const wasCut = (cause as NodeJS.ErrnoException | undefined)?.code === "ECANCELED"; // a write on a closed socket
  return wasCut || code === Code.Aborted || code === Code.Canceled;
}

/** True if the error means overload, for which HTTP/2 has an error code that clients know. */
function isOverload(err: unknown): boolean {
  return ConnectError.from(err).code === Code.ResourceExhausted;
}

/** Ends a response with only a status; if it has begun, cuts the connection. */
export function refuse(res: ServerResponse12, status: number): void {
  if (res.headersSent) {
    res.destroy();
    return;
  }
  res.statusCode = status;
  res.end();
}

/** Adds a body with the reason to a response for which Connect set only a status. */
function withBody(response: UniversalServerResponse): UniversalServerResponse {
  const body = response.body === undefined ? refusalBody(response.status) : undefined;
  if (body === undefined) return response;
  const header = new Headers(response.header);
  header.set("content-type", "application/json");
  return { ...response, header, body: createAsyncIterable([body]) };
}

/** Cuts a call off without a message: HTTP/2 has a code for a request that was not processed. */
export function cutOff(req: ServerRequest, res: ServerResponse12): void {
  if ("stream" in req) refuseStream(req.stream, constants.NGHTTP2_REFUSED_STREAM);
  else refuse(res, 503);
}

function notFound(_req: ServerRequest, res: ServerResponse12): void {
  refuse(res, 404);
}
