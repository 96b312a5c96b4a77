import type { HandlerContext } from "@connectrpc/connect";
import { responseKey } from "./shared-response.ts";

/**
 * Sends the headers of a streaming response now, so that the caller knows that the call was accepted: Connect sends
 * them only with the first message, which may be hours later. The handler must call it only once the request has been
 * validated; headers that are set later are lost.
 * @throws Error for a call that did not arrive through the adapter
 */
export function sendHead(context: HandlerContext): void {
  const response = context.values.get(responseKey);
  if (response === undefined) throw new Error("a call without a response to write to");
  if (response.headersSent) return;
  for (const [name, value] of context.responseHeader) response.setHeader(name, value);
  if ("stream" in response) response.writeHead(200);
  else response.writeHead(200).flushHeaders(); // otherwise it waits for a body
  // Connect writes the same headers with its first message.
  response.writeHead = () => response as never;
}
