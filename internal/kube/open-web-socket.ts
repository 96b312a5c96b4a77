import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import type { ClusterAccess } from "./access/credentials.ts";
import { KubeApiError, KubeUnreachableError, statusAnswer } from "./kube-errors.ts";

const MAX_ANSWER = 64 * 1024;
/** Far above the largest message of a kubelet (32 KiB); bounds the memory of an unfinished message. */
const MAX_PAYLOAD = 1024 * 1024;

/**
 * Opens a web socket through the API server. `path`: as in `KubeRequest`, with its query. The socket is paused, so that
 * no message is lost before the caller listens and resumes it.
 * @throws KubeApiError for an error response, KubeUnreachableError for no response and for one that does not upgrade to
 * this protocol; the signal's reason
 */
export async function openWebSocket(
  { server, tls, headers, proxy }: ClusterAccess,
  path: string,
  protocol: string,
  signal: AbortSignal,
): Promise<WebSocket> {
  signal.throwIfAborted();
  const url = new URL(server);
  const at = `${url.origin}${url.pathname.replace(/\/$/, "")}${path}`.replace(/^http/, "ws");
  const options = { ...tls, headers, agent: proxy?.agent, perMessageDeflate: false, maxPayload: MAX_PAYLOAD };
  const socket = new WebSocket(at, [protocol], options);
  const { promise, resolve, reject } = Promise.withResolvers<WebSocket>();
  const stop = () => socket.terminate();
  signal.addEventListener("abort", stop, { once: true });
  socket.once("open", () => {
    socket.pause();
    resolve(socket);
  });
  socket.once("unexpected-response", (_request, answer) => {
    refusal(answer, path)
      .then(reject, reject)
      .finally(() => socket.terminate());
  });
  socket.on("error", (err) => reject(signal.aborted ? signal.reason : new KubeUnreachableError(`GET ${path}`, err)));
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", stop);
  }
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
    return { message: text.slice(0, 200) }; // from a proxy or the kubelet
  }
}
