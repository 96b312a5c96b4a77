import { once } from "node:events";
import type { ServerRequest, ServerResponse12 } from "../../rpc/port/request.ts";

/** The host that a request names; empty when it names none. */
export function authorityOf(req: ServerRequest): string {
  return ("authority" in req ? req.authority : req.headers.host) ?? "";
}

/** Aborted when the caller has gone, or the answer is out. */
export function closedSignal(req: ServerRequest, res: ServerResponse12): AbortSignal {
  const abort = new AbortController();
  const end = () => abort.abort(new Error("the caller disconnected"));
  if ("stream" in req) req.stream.once("close", end);
  else res.once("close", end);
  return abort.signal;
}

/** The whole body; undefined when it is larger. */
export async function readBody(req: ServerRequest, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Answers with JSON. */
export function send(
  res: ServerResponse12,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  res.statusCode = status;
  res.setHeader("content-type", "application/json");
  res.setHeader("cache-control", "no-store");
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  res.end(`${JSON.stringify(body)}\n`);
}

/** A web response as Node's own; its body is read no faster than the caller takes it. */
export async function sendResponse(res: ServerResponse12, response: Response, signal: AbortSignal): Promise<void> {
  res.statusCode = response.status;
  for (const [name, value] of response.headers) {
    if (name !== "connection" && name !== "keep-alive" && name !== "transfer-encoding") res.setHeader(name, value);
  }
  const reader = response.body?.getReader();
  if (reader === undefined) {
    res.end();
    return;
  }
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || signal.aborted) break;
      const goesOn = (res.write as (chunk: Uint8Array) => boolean).call(res, value);
      if (!goesOn) await once(res as NodeJS.EventEmitter, "drain", { signal });
    }
  } catch (err) {
    if (!signal.aborted) throw err;
  } finally {
    signal.removeEventListener("abort", cancel);
    if (!res.writableEnded) res.end();
  }
}
