import type { HandlerContext } from "@connectrpc/connect";
import { responseKey } from "./shared-response.ts";

/**
 * Sends the headers of a streaming call's answer now, so that the caller knows that it was accepted: Connect does it
 * with the first message only, which may be hours away. To be called by the handler when nothing can be wrong with the
 * request any more; headers that are set later are lost.
 * @throws Error for a call that did not come through the adapter
 */
export function sendHead(context: HandlerContext): void {
  const response = context.values.get(responseKey);
  if (response === undefined) throw new Error("a call without a response to write to");
  if (response.headersSent) return;
  for (const [name, value] of context.responseHeader) response.setHeader(name, value);
  if ("stream" in response) response.writeHead(200);
  else response.writeHead(200).flushHeaders(); // it waits for a body otherwise
  // Connect writes the same ones with its first message.
  response.writeHead = () => response as never;
}
