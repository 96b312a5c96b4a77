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
import { connectErrorOf } from "../common/errors.ts";
import { mapFailures } from "../common/map-failures.ts";
import { refuseStream } from "../port/caller-connections.ts";
import type { ServerRequest, ServerResponse12 } from "../port/request.ts";
import { heldAnswer, heldBody, heldMessages } from "./bodies.ts";
import { type Call, callKey } from "./calls.ts";
import { describeErrors } from "./described-errors.ts";
import { abortedAtClose, authorityOf, handlerRequest } from "./handler-request.ts";
import { refusalBody, refuseUnknownMethod } from "./not-served.ts";
import { responseKey } from "./shared-response.ts";

/** Registers services on a router; rooms export these and `cmd` hands them to the server. */
export type Routes = (router: ConnectRouter) => void;

export interface AdapterOptions extends ConnectRouterOptions {
  readonly routes: Routes;
  readonly contextValues: (req: ServerRequest) => ContextValues;
  /** Called when a call begins; the result learns of its end. Undefined: the call is cut off. */
  readonly enter: (values: ContextValues) => Call | undefined;
  /** Called when a call begins, with what ends it. `abort` is aborted when the call's stream has closed. */
  readonly began: (values: ContextValues, abort: AbortController, unary: boolean) => void;
  /** Every error has our ErrorInfo in its details, also those that Connect itself makes. Default true. */
  readonly describesErrors?: boolean;
  /** What answers requests of a path that is none of an RPC. */
  readonly plain?: (path: string) => ((req: ServerRequest, res: ServerResponse12) => Promise<void>) | undefined;
  /** Answers requests that are not RPCs of this server. Default: 404. */
  readonly fallback?: (req: ServerRequest, res: ServerResponse12) => void | Promise<void>;
}

export interface Adapter {
  handle(req: ServerRequest, res: ServerResponse12): void;
  /** Paths of methods whose request may stay open as long as the caller likes. */
  readonly openEndedPaths: ReadonlySet<string>;
}

/**
 * From Node's requests to Connect's handlers. Unlike connect-node's own adapter it survives a request whose authority
 * is no host name, ends a response whose handler failed, and writes to our log instead of the console.
 */
export function createAdapter(logger: Logger, options: AdapterOptions): Adapter {
  const { routes, contextValues, enter, began, plain, fallback = notFound, ...rest } = options;
  const { describesErrors = true, ...routerOptions } = rest;
  const router = createConnectRouter(routerOptions);
  routes(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  const openEnded = router.handlers.filter(({ method: { methodKind: kind } }) => /^(client|bidi)_/.test(kind));
  const openEndedPaths = new Set(openEnded.map(({ requestPath }) => requestPath));

  async function answer(path: string, req: ServerRequest, res: ServerResponse12): Promise<void> {
    const handler = handlers.get(path);
    if (handler === undefined) {
      const route = plain?.(path);
      if (route !== undefined) return route(req, res);
      return refuseUnknownMethod(path, req, res) ? undefined : fallback(req, res);
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
      const { body: answered, ...head } = describesErrors ? await describeErrors(withBody(answer)) : answer;
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
 * A handler may answer before it has read the whole request. Over HTTP/1.1 what is left of it is before the
 * connection's next request; over HTTP/2 its sender waits for room for it, and may not look at the answer before that.
 * So the request must survive its reader, and the rest is read when the answer is out.
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
 * Who has sent this much after the answer was out has had word from us since, and so the answer: over HTTP/2 it can be
 * cut off without losing that.
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

/** The caller disconnected while we were writing: not an error. */
export function isHangUp(err: unknown): boolean {
  const { code, cause } = ConnectError.from(err);
  const wasCut = (cause as NodeJS.ErrnoException | undefined)?.code === "ECANCELED"; // a write on a socket that is closed
  return wasCut || code === Code.Aborted || code === Code.Canceled;
}

/** HTTP/2 has a sign for it, which clients know. */
function isOverload(err: unknown): boolean {
  return ConnectError.from(err).code === Code.ResourceExhausted;
}

/** Ends an answer with nothing but a status, or the connection under one that has begun. */
export function refuse(res: ServerResponse12, status: number): void {
  if (res.headersSent) {
    res.destroy();
    return;
  }
  res.statusCode = status;
  res.end();
}

/** A refusal that Connect makes of a status alone says in its body what is wrong. */
function withBody(response: UniversalServerResponse): UniversalServerResponse {
  const body = response.body === undefined ? refusalBody(response.status) : undefined;
  if (body === undefined) return response;
  const header = new Headers(response.header);
  header.set("content-type", "application/json");
  return { ...response, header, body: createAsyncIterable([body]) };
}

/** Without a message: HTTP/2 has a code for a request that was not processed. */
export function cutOff(req: ServerRequest, res: ServerResponse12): void {
  if ("stream" in req) refuseStream(req.stream, constants.NGHTTP2_REFUSED_STREAM);
  else refuse(res, 503);
}

function notFound(_req: ServerRequest, res: ServerResponse12): void {
  refuse(res, 404);
}
