import { createHash, randomBytes } from "node:crypto";
import { type IncomingMessage, request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import type { Duplex } from "node:stream";
import { DomainError } from "../base/errors.ts";
import type { ClusterAccess } from "./access/credentials.ts";
import { KubeApiError, KubeUnreachableError, statusAnswer } from "./kube-errors.ts";

/** The connection behind an upgraded request, for frames of RFC 6455. */
export interface OpenedSocket {
  readonly stream: Duplex;
  /** What came right after the answer. */
  readonly head: Buffer;
}

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const MAX_ANSWER = 64 * 1024;

/**
 * Asks the API server to continue as a web socket. `path`: as in `KubeRequest`, with its query.
 * @throws KubeApiError for what the server answers instead, KubeUnreachableError for no answer, DomainError
 * `unavailable` for one that is no upgrade to this protocol; the signal's reason
 */
export async function openWebSocket(
  access: ClusterAccess,
  path: string,
  protocol: string,
  signal: AbortSignal,
): Promise<OpenedSocket> {
  signal.throwIfAborted();
  const url = new URL(access.server);
  const key = randomBytes(16).toString("base64");
  const send = url.protocol === "http:" ? plainRequest : secureRequest;
  const request = send(`${url.origin}${url.pathname.replace(/\/$/, "")}${path}`, {
    ...access.tls,
    agent: false,
    signal,
    headers: {
      ...access.headers,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": key,
      "sec-websocket-protocol": protocol,
    },
  });
  const { promise, resolve, reject } = Promise.withResolvers<OpenedSocket>();
  request.once("upgrade", (answer, stream, head) => {
    if (accepts(answer, key, protocol)) return resolve({ stream, head });
    stream.destroy();
    reject(new DomainError("unavailable", `cannot GET ${path}: the Kubernetes API speaks another protocol`));
  });
  request.once("response", (answer) => {
    refusal(answer, path).then(reject, reject);
  });
  request.once("error", (err) => reject(signal.aborted ? signal.reason : new KubeUnreachableError(`GET ${path}`, err)));
  request.end();
  return await promise;
}

function accepts({ headers }: IncomingMessage, key: string, protocol: string): boolean {
  const wanted = createHash("sha1").update(`${key}${GUID}`).digest("base64");
  return headers["sec-websocket-accept"] === wanted && headers["sec-websocket-protocol"] === protocol;
}

async function refusal(answer: IncomingMessage, path: string): Promise<KubeApiError> {
  let text = "";
  for await (const chunk of answer.setEncoding("utf8")) {
    text += chunk;
    if (text.length > MAX_ANSWER) break;
  }
  return new KubeApiError(`GET ${path}`, answer.statusCode ?? 0, statusAnswer(parsed(text)));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { message: text.slice(0, 200) }; // of a proxy, or of the kubelet
  }
}
