import type { Writable } from "node:stream";
import type { HandlerContext } from "@connectrpc/connect";
import type { Frame } from "./frames.ts";
import { responseKey } from "./shared-response.ts";

/**
 * The middle of a streaming call's response, past Connect's pipeline: shared frames straight to the connection. To be used
 * while the handler's generator is suspended after its first message, for Connect writes nothing then; it writes the
 * headers before and the end after, in the call's protocol.
 */
export class FrameSink {
  readonly #out: Writable;
  readonly #isJson: boolean;

  /** @throws Error for a call that did not come through the adapter */
  constructor(context: HandlerContext) {
    const response = context.values.get(responseKey);
    if (response === undefined) throw new Error("a call without a response to write to");
    this.#out = "stream" in response ? response.stream : (response as unknown as Writable);
    this.#isJson = (context.requestHeader.get("content-type") ?? "").includes("json");
  }

  /** Bytes that were sent and that the connection has not taken yet. */
  get backlog(): number {
    return this.#out.writableLength;
  }

  send(frame: Frame): void {
    if (this.#out.destroyed || this.#out.writableEnded) return;
    this.#out.write(frame.bytes(this.#isJson));
  }

  /** Calls `fn` once when the backlog is gone; never when the connection breaks first. */
  onDrain(fn: () => void): void {
    this.#out.once("drain", fn);
  }
}
