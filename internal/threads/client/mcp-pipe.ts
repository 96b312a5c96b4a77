import type { OutgoingHttpHeaders } from "node:http";
import { request } from "node:https";
import { Readable } from "node:stream";
import { within } from "../../base/abort.ts";
import { backoffMs } from "../../base/backoff.ts";
import type { Clock } from "../../base/clock.ts";
import { causesOf, DomainError, errorText, isConnectFailure } from "../../base/errors.ts";
import { type Json, objectOf, parseObject } from "../../base/json-fields.ts";
import { LineCutter } from "../../base/text/line-cutter.ts";
import type { ThreadsTls } from "./threads-client.ts";

/** The target of a request: a server and a valid token. */
export interface McpPlace {
  readonly url: string;
  /** See `ThreadsPlace.tls`. */
  readonly tls?: ThreadsTls | undefined;
  readonly token: string;
}

const MAX_BYTES = 512 * 1024;
/** The longest line of a stream; a read of messages has a few MiB. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
const REFUSED = -32_000;
const PARSE_ERROR = -32_700;
const GRACE_MS = 2000;

/**
 * The first requests of an agent program. If one of them fails, many programs use none of the tools until they are
 * restarted.
 */
const FIRST_REQUESTS = new Set(["initialize", "server/discover", "tools/list"]);
/** How long a first request waits for the server. Agents that are given these tools at launch wait for two minutes. */
const FIRST_HOLD_MS = 110_000;
/**
 * How long any other request waits for a server that accepts no connection, such as one that is restarting. After an
 * error an agent may end its turn without the message that it was woken for.
 */
const HOLD_MS = 5000;
const RETRY = { firstMs: 200, maxMs: 2000, factor: 1.5 };

/**
 * Forwards JSON-RPC unchanged, in both directions and for MCP with and without `initialize`. Each message is a POST;
 * its answer, one object or a stream, is written line by line. Requests are answered with an error when the server has
 * accepted no connection for 5 s; the first ones of a session wait up to 110 s for the server and a valid token.
 */
export class McpPipe {
  readonly #clock: Clock;
  readonly #place: () => McpPlace;
  readonly #write: (line: string) => void;
  /** The requests without an answer, by request id. */
  readonly #open = new Map<string, AbortController>();
  readonly #running = new Set<Promise<void>>();
  readonly #end = new AbortController();
  #protocol: string | undefined;

  constructor(clock: Clock, place: () => McpPlace, write: (line: string) => void) {
    this.#clock = clock;
    this.#place = place;
    this.#write = write;
  }

  /** Sends one message, and writes its answer when it arrives. */
  send(line: string): void {
    if (line.trim() === "") return;
    const message = parsed(line);
    if (message === undefined) {
      this.#fail(null, PARSE_ERROR, fault("VALIDATION_ERROR", "not a JSON-RPC message"));
      return;
    }
    // Over HTTP, closing a request cancels it.
    if (message["method"] === "notifications/cancelled") this.#cancel(message["params"]);
    const running = this.#pass(line, message).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Waits at most 2 s for pending answers, and then answers the requests that have none with an error. */
  async end(): Promise<void> {
    await within(this.#clock, GRACE_MS, Promise.all(this.#running));
    const why = `no answer came within ${GRACE_MS / 1000} s of the end of the input`;
    this.#end.abort(new DomainError("cancelled", why));
    await Promise.all(this.#running);
  }

  async #pass(line: string, message: Readonly<Record<string, unknown>>): Promise<void> {
    const { id, method } = message;
    const isRequest = (typeof id === "string" || typeof id === "number") && typeof method === "string";
    const cancel = new AbortController();
    const signal = AbortSignal.any([cancel.signal, this.#end.signal]);
    const key = JSON.stringify(id ?? null);
    if (isRequest) this.#open.set(key, cancel);
    let answered = false;
    const write = (one: string) => {
      if (isRequest && isAnswerTo(one, id)) {
        answered = true;
        if (method === "initialize") this.#protocol = protocolOf(one) ?? this.#protocol;
      }
      this.#write(one);
    };
    try {
      const response = await this.#held(line, message, isRequest && FIRST_REQUESTS.has(method), signal);
      const refusal = await passAnswer(response, write);
      const { status } = response;
      const other = fault(
        isFaulty(response) ? "VALIDATION_ERROR" : "UNAVAILABLE",
        `threads answered with HTTP ${status}`,
      );
      if (isRequest && !answered) this.#fail(id, REFUSED, refusal ?? other);
    } catch (err) {
      const why = signal.aborted ? signal.reason : err;
      const failure = fault(mayPass(why) ? "UNAVAILABLE" : "VALIDATION_ERROR", `threads: ${reasonOf(why)}`);
      if (isRequest && !answered && !cancel.signal.aborted) this.#fail(id, REFUSED, failure);
    } finally {
      this.#open.delete(key);
    }
  }

  /**
   * Posts a message until the server accepts it. One of the first requests is posted again after any failure that may
   * pass, any other message only if no connection was made. Once its time is up, the last attempt decides.
   */
  async #held(
    line: string,
    message: Readonly<Record<string, unknown>>,
    isFirst: boolean,
    signal: AbortSignal,
  ): Promise<Response> {
    const until = this.#clock.monotonicMs() + (isFirst ? FIRST_HOLD_MS : HOLD_MS);
    for (let attempt = 0; ; attempt++) {
      const isLast = this.#clock.monotonicMs() >= until;
      try {
        const response = await this.#post(line, message, signal);
        if (isLast || !isFirst || !isAway(response)) return response;
        await response.body?.cancel();
      } catch (err) {
        if (isLast || signal.aborted || !(isFirst ? mayPass(err) : causesOf(err).some(isConnectFailure))) throw err;
      }
      await this.#clock.sleep(backoffMs(RETRY, attempt, Math.random), signal);
    }
  }

  async #post(line: string, message: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Response> {
    if (Buffer.byteLength(line) > MAX_BYTES)
      throw new DomainError("exhausted", `the message is larger than ${MAX_BYTES} bytes`);
    const { url, tls, token } = this.#place();
    const { method, params } = message as { readonly method?: string; readonly params?: Record<string, unknown> };
    const meta = params?.["_meta"] as Readonly<Record<string, unknown>> | undefined;
    const protocol = meta?.["io.modelcontextprotocol/protocolVersion"] ?? this.#protocol;
    const named = params?.["name"] ?? params?.["uri"];
    const call = {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${token}`,
        ...(typeof protocol === "string" && { "mcp-protocol-version": protocol }),
        ...(typeof method === "string" && { "mcp-method": method }),
        ...(typeof named === "string" && /^[\x20-\x7e]*$/.test(named) && { "mcp-name": named }),
      },
      body: line,
      signal,
    };
    const at = `${url.replace(/\/$/, "")}/v1/mcp`;
    return await (tls === undefined ? fetch(at, call) : fetchOver(tls, at, call));
  }

  #cancel(params: unknown): void {
    const id = (params as { readonly requestId?: unknown } | undefined)?.requestId;
    this.#open.get(JSON.stringify(id))?.abort();
  }

  #fail(id: unknown, code: number, error: Json): void {
    this.#write(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: error["message"], data: { error } } }));
  }
}

/** An error as tools answer it. */
function fault(code: "UNAVAILABLE" | "VALIDATION_ERROR", message: string): Json {
  return { code, message, retryable: code === "UNAVAILABLE", details: {} };
}

/** Whether the server cannot answer yet, or the token in its file is about to be replaced. */
function isAway({ status }: Response): boolean {
  return status === 401 || status >= 500;
}

/** Whether the server would refuse the same message again: it is not JSON-RPC, has a key twice, or is too large. */
function isFaulty({ status }: Response): boolean {
  return status === 400 || status === 413;
}

function mayPass(err: unknown): boolean {
  return !(err instanceof DomainError && err.kind === "exhausted");
}

/** Like `fetch`, over TLS 1.3 to a server with a certificate of these CAs. */
function fetchOver(
  tls: ThreadsTls,
  url: string,
  { body, ...options }: { readonly body: string; readonly headers: OutgoingHttpHeaders; readonly signal: AbortSignal },
): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const call = request(url, { ...options, method: "POST", ...tls, minVersion: "TLSv1.3" }, (answer) => {
    const type = answer.headers["content-type"];
    const headers = type === undefined ? {} : { "content-type": type };
    const status = answer.statusCode ?? 0;
    const isBare = status === 204 || status === 304;
    resolve(new Response(isBare ? null : (Readable.toWeb(answer) as ReadableStream), { status, headers }));
  });
  call.on("error", reject).end(body);
  return promise;
}

/** Writes the messages of an answer. Returns the error of a refusal that is none, such as that of a token. */
async function passAnswer(response: Response, write: (line: string) => void): Promise<Json | undefined> {
  if (response.headers.get("content-type")?.startsWith("text/event-stream") !== true) {
    const value = parsed(await response.text());
    if (value?.["jsonrpc"] !== "2.0") return refusalOf(value);
    write(JSON.stringify(value));
    return undefined;
  }
  const lines = new LineCutter(MAX_EVENT_BYTES);
  let data: string[] = [];
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    for (const { bytes } of lines.push(chunk)) {
      const line = bytes.toString("utf8");
      if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
      if (line !== "") continue;
      const value = parsed(data.join("\n"));
      if (value !== undefined) write(JSON.stringify(value));
      data = [];
    }
  }
  return undefined;
}

function refusalOf(body: Json | undefined): Json | undefined {
  const error = objectOf(body?.["error"]);
  return typeof error["code"] === "string" && typeof error["message"] === "string" ? error : undefined;
}

function parsed(text: string): Json | undefined {
  return parseObject(text.trim());
}

function isAnswerTo(line: string, id: unknown): boolean {
  const value = parsed(line);
  return value?.["id"] === id && (value?.["result"] !== undefined || value?.["error"] !== undefined);
}

function protocolOf(line: string): string | undefined {
  const version = (parsed(line)?.["result"] as { readonly protocolVersion?: unknown } | undefined)?.protocolVersion;
  return typeof version === "string" ? version : undefined;
}

function reasonOf(err: unknown): string {
  if (err instanceof DomainError) return err.message;
  const cause = err instanceof Error ? err.cause : undefined;
  return errorText(cause ?? err);
}
