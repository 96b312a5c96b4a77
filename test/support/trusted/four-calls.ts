import { request as plainRequest } from "node:http";
import { request } from "node:https";
import { WebSocket } from "ws";

/** The four kinds of calls of a `TrustedRoom`. */
export const KINDS = ["unary", "stream", "route", "socket"] as const;
export type CallKind = (typeof KINDS)[number];

export interface CallTarget {
  /** Absent: the call goes to `socketPath`. */
  readonly port?: number;
  readonly socketPath?: string;
  /** The CA of the server; undefined: plaintext. */
  readonly ca?: string;
  readonly client?: { readonly cert: string; readonly key: string } | undefined;
  readonly token?: string | undefined;
  readonly host?: string;
}

/** The first result of a call. */
export interface FirstResult {
  /** `open`, the code of a refusal, or `no answer`. */
  readonly code: string;
  /** The last result, after the call has ended. */
  readonly ended: Promise<string>;
  close(): void;
}

export const CALLS: Readonly<Record<CallKind, string>> = {
  unary: "gastown.v1.SidecarService/Peek",
  stream: "gastown.v1.SidecarService/WatchOutput",
  route: "http/GET /answer",
  socket: "http/upgrade /socket",
};

/** Makes one call of this kind over its own connection, HTTP/1.1. */
export function ask(kind: CallKind | "deaf", asked: CallTarget): Promise<FirstResult> {
  return kind === "socket" ? askSocket(asked) : askHttp(kind, asked);
}

const EMPTY_MESSAGE = Buffer.from([0, 0, 0, 0, 2, 0x7b, 0x7d]);
/** The HTTP/1.1 requests of the kinds. */
export const REQUESTS = {
  unary: { method: "POST", path: `/${CALLS.unary}`, type: "application/json", body: Buffer.from("{}") },
  stream: { method: "POST", path: `/${CALLS.stream}`, type: "application/connect+json", body: EMPTY_MESSAGE },
  route: { method: "GET", path: "/answer", type: "", body: undefined },
  socket: { method: "GET", path: "/socket", type: "", body: undefined },
  deaf: { method: "GET", path: "/deaf", type: "", body: undefined },
} as const;

function headersOf({ token, host }: CallTarget): Record<string, string> {
  return { ...(token && { authorization: `Bearer ${token}` }), ...(host && { host }) };
}

function askHttp(kind: Exclude<CallKind, "socket"> | "deaf", asked: CallTarget): Promise<FirstResult> {
  const { method, path, type, body } = REQUESTS[kind];
  const { port, socketPath, ca, client } = asked;
  const headers = { ...headersOf(asked), ...(type && { "content-type": type, "connect-protocol-version": "1" }) };
  const place = socketPath === undefined ? { host: "127.0.0.1", port } : { socketPath };
  return new Promise((resolve) => {
    const none = (err: Error) => resolve({ code: "no answer", ended: Promise.resolve(err.message), close() {} });
    const options = { ...place, method, path, headers, agent: false };
    const req =
      ca === undefined
        ? plainRequest(options)
        : request({ ...options, ca, ...client, checkServerIdentity: () => undefined });
    req.on("error", none);
    req.on("response", (res) => {
      let text = "";
      const { promise: ended, resolve: end } = Promise.withResolvers<string>();
      const seen = () => resolve({ code: codeOf(text), ended, close: () => req.destroy() });
      const isWhole = () => kind !== "unary" && res.statusCode === 200;
      res.on("data", (chunk: Buffer) => {
        text += chunk.toString("latin1");
        if (isWhole()) seen();
      });
      res.on("error", () => {});
      res.on("close", () => {
        seen();
        end(text);
      });
    });
    req.end(body);
  });
}

/** The code of a Connect error in JSON, also at the end of a stream. */
function codeOf(text: string): string {
  return /"code":"([a-z_]+)"/.exec(text)?.[1] ?? "open";
}

function askSocket(asked: CallTarget): Promise<FirstResult> {
  const { port, socketPath, ca, client } = asked;
  const url =
    socketPath === undefined ? `${ca ? "wss" : "ws"}://127.0.0.1:${port}/socket` : `ws+unix://${socketPath}:/socket`;
  return new Promise((resolve) => {
    const ws = new WebSocket(url, { headers: headersOf(asked), ...(ca && { ca }), ...client });
    const { promise: ended, resolve: end } = Promise.withResolvers<string>();
    const close = () => ws.terminate();
    ws.on("error", (err) => resolve({ code: "no answer", ended: Promise.resolve(err.message), close }));
    ws.on("unexpected-response", (_, res) => {
      let text = "";
      res.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      res.on("close", () => resolve({ code: codeOf(text), ended: Promise.resolve(text), close }));
    });
    let wasOpen = false;
    ws.on("open", () => {
      wasOpen = true;
      ws.send("hello");
    });
    ws.on("message", () => resolve({ code: "open", ended, close }));
    ws.on("close", (_, reason) => {
      end(`ended: ${reason.toString()}`);
      if (wasOpen) resolve({ code: "open", ended, close }); // admitted, and ended before it was answered
    });
  });
}
