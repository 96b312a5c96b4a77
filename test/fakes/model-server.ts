import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type ModelAct, modelAct } from "./model-script.ts";
import {
  chatFrames,
  type Frame,
  type ModelRequest,
  messagesBody,
  messagesFrames,
  readChat,
  readMessages,
  readResponses,
  responsesFrames,
} from "./model-wire.ts";

export interface ModelServerOptions {
  /** The pause before each word of an answer; 0 (default) answers at once. A pause keeps the agent busy. */
  readonly wordDelayMs?: number;
  /** The model's behaviour; default: `modelAct` (keywords in the last user text). */
  readonly act?: ((request: ModelRequest) => ModelAct) | undefined;
  /** The behaviour for requests without tools; default: a title. */
  readonly actWithoutTools?: ((request: ModelRequest) => ModelAct) | undefined;
  /** Gets the headers and the body of each request as JSON, even of a request that no API accepts. */
  readonly onRequest?: (whole: string) => void;
}

/** One request from its arrival to the end of its answer, which ends early if the agent disconnects. Wall clock ms. */
export interface ModelSpan {
  readonly request: ModelRequest;
  readonly act: ModelAct["type"];
  endedAt?: number | undefined;
}

const TITLE: ModelAct = { type: "say", text: '{"title":"Test","isNewTopic":false}' };

interface Api {
  readonly read: (body: Record<string, unknown>, at: number) => ModelRequest;
  readonly frames: (act: ModelAct, id: string) => Frame[];
}

const APIS: Readonly<Record<string, Api>> = {
  "/v1/messages": { read: readMessages, frames: messagesFrames },
  "/v1/responses": { read: readResponses, frames: responsesFrames },
  "/v1/chat/completions": { read: readChat, frames: chatFrames },
};

/**
 * A loopback server that implements enough of the Anthropic Messages, OpenAI Responses and OpenAI Chat Completions APIs
 * for real agent programs. Its log is the ground truth of an agent's input. Any other path answers `{}`.
 */
export class ModelServer {
  wordDelayMs: number;
  /** While set, every request is refused for a rate limit with the advice to try again after a second. */
  limited = false;
  readonly #act: (request: ModelRequest) => ModelAct;
  readonly #actWithoutTools: (request: ModelRequest) => ModelAct;
  readonly #onRequest: (whole: string) => void;
  readonly #log: ModelRequest[] = [];
  readonly #spans: ModelSpan[] = [];
  readonly #server: Server;
  #ids = 0;

  private constructor(options: ModelServerOptions) {
    this.wordDelayMs = options.wordDelayMs ?? 0;
    this.#act = options.act ?? ((request) => modelAct(request.lastUserText, request.tools, request.afterTool));
    this.#onRequest = options.onRequest ?? (() => {});
    this.#actWithoutTools = options.actWithoutTools ?? (() => TITLE);
    this.#server = createServer((req, res) => {
      this.#serve(req, res).catch(() => res.destroy());
    });
  }

  static async listen(options: ModelServerOptions = {}): Promise<ModelServer> {
    const model = new ModelServer(options);
    await new Promise<void>((resolve, reject) => {
      model.#server.once("error", reject);
      model.#server.listen(0, "127.0.0.1", resolve);
    });
    return model;
  }

  /** `http://127.0.0.1:PORT`, without a path. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** All requests so far, including the small ones without tools. */
  get requests(): readonly ModelRequest[] {
    return this.#log;
  }

  /** The times at which the model worked on each request. */
  get spans(): readonly ModelSpan[] {
    return this.#spans;
  }

  /** The user's texts of the newest turn request (with tools): the whole conversation as the model saw it. */
  get conversation(): readonly string[] {
    return this.#log.findLast((request) => request.withTools)?.userTexts ?? [];
  }

  /** The number of text blocks of the newest conversation that contain `needle`: 1 after exactly one delivery. */
  arrivals(needle: string): number {
    return this.conversation.filter((text) => text.includes(needle)).length;
  }

  /** The same for the newest conversation that contains `needle`, for several agents with one model. */
  arrivalsOfOne(needle: string): number {
    const has = (text: string) => text.includes(needle);
    return (
      this.#log.findLast(({ withTools, userTexts }) => withTools && userTexts.some(has))?.userTexts.filter(has)
        .length ?? 0
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = new URL(req.url ?? "/", "http://loopback").pathname;
    const body = await readJson(req);
    this.#onRequest(JSON.stringify([path, req.headers, body]));
    if (path.endsWith("/count_tokens")) return json(res, 200, { input_tokens: 10 });
    const api = APIS[path];
    if (api === undefined) return json(res, 200, {});
    const request = api.read(body, Date.now());
    this.#log.push(request);
    const act = request.withTools ? this.#act(request) : this.#actWithoutTools(request);
    const span: ModelSpan = { request, act: act.type };
    this.#spans.push(span);
    res.on("close", () => {
      span.endedAt = Date.now();
    });
    this.#ids += 1;
    const id = `m${this.#ids}`;
    if (this.limited) return refuse(res, { status: 429, error: "rate_limit_error" }, 1);
    if (act.type === "hang") return;
    if (act.type === "refuse") return refuse(res, act, act.retryAfter ?? 3600);
    if (!request.stream) return json(res, 200, messagesBody(act, id));
    await this.#stream(res, api.frames(act, id), request.withTools);
  }

  async #stream(res: ServerResponse, frames: readonly Frame[], slow: boolean): Promise<void> {
    res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    for (const frame of frames) {
      if (res.destroyed) return;
      if (slow && frame.word === true && this.wordDelayMs > 0) await sleep(this.wordDelayMs);
      const data = typeof frame.data === "string" ? frame.data : JSON.stringify(frame.data);
      res.write(`${frame.event === undefined ? "" : `event: ${frame.event}\n`}data: ${data}\n\n`);
    }
    res.end();
  }
}

function refuse(
  res: ServerResponse,
  act: { readonly status: number; readonly error: string },
  retryAfterSeconds: number,
): void {
  if (retryAfterSeconds > 0) res.setHeader("retry-after", String(retryAfterSeconds));
  json(res, act.status, {
    type: "error",
    error: {
      type: act.error,
      message: act.status === 429 ? "This request would exceed the rate limit." : `The model answers ${act.status}.`,
    },
  });
}

function json(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { "content-type": "application/json" });
  res.end(JSON.stringify(body));
}

async function readJson(req: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
