import { universalResponseToNodeResponse } from "@connectrpc/connect-node";
import { raceSignal } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { ServerRequest, ServerResponse12 } from "../port/request.ts";
import { bodyOf, cutOff, isHangUp, refuse } from "../server/adapter.ts";
import { heldAnswer, heldBody } from "../server/bodies.ts";
import type { CallContext } from "../server/call-facts.ts";
import { type Call, callKey } from "../server/calls.ts";
import type { Guard } from "../server/guard.ts";
import { abortedAtClose, authorityOf, headersOf } from "../server/handler-request.ts";
import { cutAfterEnd } from "./call-end.ts";
import { refusalOf } from "./refusal.ts";
import type { Route } from "./route.ts";

export interface PlainDeps {
  readonly clock: Clock;
  readonly guard: Guard;
}

const MAX_BODY_BYTES = 512 * 1024;

/** Checks a request with the guard, calls its route and writes the response. */
export async function answerRoute(
  { clock, guard }: PlainDeps,
  route: Route,
  req: ServerRequest,
  res: ServerResponse12,
): Promise<void> {
  const { service = "http", path } = route;
  const url = urlOf(req);
  if (url === undefined) return refuse(res, 400);
  const isKnown = route.methods.includes(req.method ?? "");
  const method = `${isKnown ? req.method : "other"} ${path}`;
  const abort = abortedAtClose(req, res);
  const closed = new AbortController();
  const onClosed = (fn: () => void) => void ("stream" in req ? req.stream : res).once("close", fn);
  onClosed(() => closed.abort());
  try {
    const header = headersOf(req);
    const context = await guard.admit(req, { url, header, service, method, protocol: "http", abort, onClosed });
    if (context === undefined) return cutOff(req, res);
    if (!isKnown) return await write(res, new Response(null, notAllowed(route)), undefined);
    void cutAfterEnd(clock, abort.signal, closed.signal, () => res.destroy());
    const call = context.values.get(callKey);
    try {
      const request = requestOf(req, context, call, route.maxBodyBytes ?? MAX_BODY_BYTES);
      await write(res, await raceSignal(Promise.resolve(route.handle(request, context)), abort.signal), call);
    } finally {
      call?.answered();
    }
  } catch (err) {
    if (closed.signal.aborted || isHangUp(err)) return;
    if (res.headersSent) return void res.destroy();
    const refusal = refusalOf(err, { place: route, url, name: `${service}/${method}` }, guard.logger);
    await write(res, new Response(Buffer.from(refusal.body), refusal), undefined);
  }
}

function notAllowed({ methods }: Route): ResponseInit {
  return { status: 405, headers: { allow: methods.join(", ") } };
}

function urlOf(req: ServerRequest): string | undefined {
  const protocol = "encrypted" in req.socket && req.socket.encrypted ? "https" : "http";
  const url = `${protocol}://${authorityOf(req)}${req.url ?? ""}`;
  return authorityOf(req) !== "" && URL.canParse(url) ? url : undefined;
}

function requestOf(req: ServerRequest, context: CallContext, call: Call | undefined, maxBytes: number): Request {
  const { url, requestHeader: headers, signal } = context;
  const method = req.method ?? "GET";
  if (method === "GET" || method === "HEAD") return new Request(url, { method, headers, signal });
  const held = call === undefined ? bodyOf(req) : heldBody(bodyOf(req), call);
  const body = ReadableStream.from(bounded(held, maxBytes));
  return new Request(url, { method, headers, signal, body, duplex: "half" });
}

async function* bounded(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      const fields = { limit: maxBytes };
      throw new DomainError("exhausted", `the request has more than ${maxBytes} bytes`, { fields });
    }
    yield chunk;
  }
}

async function write(res: ServerResponse12, response: Response, call: Call | undefined): Promise<void> {
  const { status, headers: header, body } = response;
  const answered = body !== null && call !== undefined ? heldAnswer(body, call) : (body ?? undefined);
  await universalResponseToNodeResponse({ status, header, ...(answered && { body: answered }) }, res);
}
