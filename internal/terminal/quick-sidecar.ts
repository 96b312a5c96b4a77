import type { IncomingMessage, RequestOptions } from "node:http";
import type { ConnectionOptions } from "node:tls";
import { timedCall } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import { asText, type Json, parseObject } from "../base/json-fields.ts";
import type { PeekRequest, PeekResult } from "../session/types.ts";

/** How one sidecar is dialled. */
export interface QuickSidecarOptions {
  readonly host: string;
  readonly port: number;
  /** The path of a unix socket to connect to instead. */
  readonly path?: string | undefined;
  /** For TLS: the certificates, and how the server's certificate is checked. */
  readonly tls?: ConnectionOptions | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

const SERVICE = "/gastown.v1.SidecarService/";
const CALL_MS = 30_000;
/** A peek's text is at most 3 MiB; JSON may encode each of its bytes in six. */
const MAX_ANSWER_BYTES = 20 * 1024 * 1024;

/**
 * Two calls to a sidecar as JSON over HTTP/1.1, for a program that starts, asks once and ends: the RPC library, its
 * messages and HTTP/2 take longer to load than the rest of `gt peek`. It does not distinguish failures: after any
 * failure the caller repeats the call through `GRPCSidecarBackend`, which explains the failure. Nothing is typed here,
 * so a repeated call is safe.
 */
export class QuickSidecar implements Disposable {
  readonly #options: QuickSidecarOptions;
  readonly #clock: Clock;
  readonly #http: Pick<typeof import("node:http"), "Agent" | "request">;
  readonly #agent: InstanceType<typeof import("node:http").Agent>;

  constructor(options: QuickSidecarOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    // Not imported: an import of node:http by name or star also runs its lazy parts, such as WebSocket, which take half
    // of the time to start.
    this.#http = process.getBuiltinModule(options.tls === undefined ? "node:http" : "node:https");
    // Only one connection: a second handshake takes longer than waiting for the first answer.
    this.#agent = new this.#http.Agent({ keepAlive: true, maxSockets: 1 });
  }

  /** @throws Error for whatever goes wrong; the signal's reason */
  async peek(request: PeekRequest, signal: AbortSignal): Promise<PeekResult> {
    return peekResult(await this.#call("Peek", { ...request }, signal));
  }

  /** The identity of the agent that answers. @throws Error for any failure; the signal's reason */
  async identity(signal: AbortSignal): Promise<{ readonly agent: string; readonly sessionId: string }> {
    const { agent, sessionId } = await this.#call("Status", {}, signal);
    return { agent: asText(agent), sessionId: asText(sessionId) };
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  async #call(method: string, message: Json, signal: AbortSignal): Promise<Json> {
    signal.throwIfAborted();
    const post = (stop: AbortSignal) => this.#post(method, JSON.stringify(message), stop);
    try {
      return await timedCall(this.#clock, { ms: CALL_MS, what: method }, signal, post);
    } catch (err) {
      throw signal.aborted ? signal.reason : err;
    }
  }

  #post(method: string, body: string, signal: AbortSignal): Promise<Json> {
    const { host, port, path, tls, headers } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<Json>();
    const options: RequestOptions & ConnectionOptions = {
      ...tls,
      ...(path === undefined ? { host, port } : { socketPath: path, host: "localhost" }),
      agent: this.#agent,
      method: "POST",
      path: `${SERVICE}${method}`,
      headers: { ...headers, "content-type": "application/json", "content-length": Buffer.byteLength(body) },
      signal,
    };
    const request = this.#http.request(options, (response) => {
      answerOf(response).then(resolve, (err: unknown) => {
        request.destroy();
        reject(err);
      });
    });
    request.on("error", reject);
    request.end(body);
    return promise;
  }
}

async function answerOf(response: IncomingMessage): Promise<Json> {
  if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`);
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > MAX_ANSWER_BYTES) throw new Error("the answer is too long");
    parts.push(part);
  }
  const answer = parseObject(Buffer.concat(parts).toString("utf8"));
  if (answer === undefined) throw new Error("the response is not a message");
  return answer;
}

/** Reads protobuf's JSON, which leaves out empty, zero and false values. @throws Error for a value of another type */
function peekResult(answer: Json): PeekResult {
  return {
    output: text(answer, "output"),
    alive: yes(answer, "sessionAlive"),
    truncated: yes(answer, "truncated"),
    alternateScreen: yes(answer, "alternateScreen"),
    cols: count(answer, "cols"),
    rows: count(answer, "rows"),
    cursorX: count(answer, "cursorX"),
    cursorY: count(answer, "cursorY"),
    epoch: text(answer, "epoch"),
    offset: BigInt(text(answer, "offset")),
    historyLines: count(answer, "historyLines"),
  };
}

function text(answer: Json, name: string): string {
  const value = answer[name] ?? "";
  if (typeof value !== "string") throw new Error(`${name} is not a string`);
  return value;
}

function yes(answer: Json, name: string): boolean {
  const value = answer[name] ?? false;
  if (typeof value !== "boolean") throw new Error(`${name} is neither true nor false`);
  return value;
}

function count(answer: Json, name: string): number {
  const value = answer[name] ?? 0;
  if (!Number.isSafeInteger(value)) throw new Error(`${name} is not a number`);
  return value as number;
}
