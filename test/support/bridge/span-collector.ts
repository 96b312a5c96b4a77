import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { until } from "../sidecar/sidecar.ts";

/** A span in OTLP's JSON, with the fields that tests use. */
export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ReceivedSpan, "attributes"> & { attributes: Raw })[];
    }[];
  }[];
}
type Raw = readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];

/** A collector of spans on loopback, over HTTP with JSON. */
export class SpanCollector implements AsyncDisposable {
  readonly url: string;
  /** The bodies of the requests. */
  readonly bodies: string[] = [];
  readonly #server: Server;
  readonly #held: ServerResponse[] = [];

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** `answers`: false: it accepts requests and never answers. */
  static async start({ answers = true }: { readonly answers?: boolean } = {}): Promise<SpanCollector> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const collector = new SpanCollector(server);
    server.on("request", (request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (chunk: string) => {
        body += chunk;
      });
      request.on("end", () => {
        collector.bodies.push(body);
        if (answers) response.setHeader("content-type", "application/json").end("{}");
        else collector.#held.push(response);
      });
    });
    return collector;
  }

  get spans(): readonly ReceivedSpan[] {
    const requests = this.bodies.map((body) => JSON.parse(body) as OtlpRequest);
    const scopes = requests.flatMap(({ resourceSpans }) => resourceSpans.flatMap(({ scopeSpans }) => scopeSpans));
    return scopes.flatMap(({ spans }) => spans.map((span) => ({ ...span, attributes: attributesOf(span.attributes) })));
  }

  /** The spans of a trace, once all of `names` are among them. */
  async trace(traceId: string, names: readonly string[]): Promise<ReadonlyMap<string, ReceivedSpan>> {
    const found = () => new Map(this.spans.filter((one) => one.traceId === traceId).map((one) => [one.name, one]));
    return until(`spans ${names.join(", ")}`, 30_000, () => {
      const spans = found();
      return names.every((name) => spans.has(name)) ? spans : undefined;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const response of this.#held) response.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function attributesOf(raw: Raw): Readonly<Record<string, unknown>> {
  return Object.fromEntries(raw.map(({ key, value }) => [key, Object.values(value)[0]]));
}
