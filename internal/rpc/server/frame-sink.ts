import { constants, type ServerHttp2Stream } from "node:http2";
import type { Writable } from "node:stream";
import type { HandlerContext } from "@connectrpc/connect";
import { type Call, callKey, isLargeAnswer } from "./calls.ts";
import type { FrameTarget, StreamFrame } from "./frames.ts";
import { responseKey } from "./shared-response.ts";

/**
 * Writes shared frames of a streaming response directly to the connection, bypassing Connect's pipeline. May be used
 * only while the handler's generator is suspended after its first message, or after `sendHead`, because Connect writes
 * nothing then; afterwards Connect writes the end in the call's protocol.
 */
export class FrameSink implements FrameTarget {
  readonly #out: Writable;
  readonly #call: Call | undefined;
  readonly #isJson: boolean;

  /** @throws Error for a call that did not arrive through the adapter */
  constructor(context: HandlerContext) {
    const response = context.values.get(responseKey);
    if (response === undefined) throw new Error("a call without a response to write to");
    this.#out = "stream" in response ? response.stream : (response as unknown as Writable);
    this.#call = context.values.get(callKey);
    this.#isJson = (context.requestHeader.get("content-type") ?? "").includes("json");
  }

  get backlog(): number {
    return this.#out.writableLength;
  }

  send(frame: StreamFrame): void {
    if (this.#out.destroyed || this.#out.writableEnded) return;
    const bytes = frame.bytes(this.#isJson);
    if (isLargeAnswer(bytes.length) && !this.#mayWait(bytes.length)) return;
    this.#out.write(bytes);
  }

  onDrain(fn: () => void): void {
    this.#out.once("drain", fn);
  }

  /** Returns false if too much already waits to be taken; the stream has then been cut off. */
  #mayWait(bytes: number): boolean {
    try {
      this.#call?.answering(this.backlog + bytes);
      this.#out.once("drain", () => this.#call?.answering(0));
      return true;
    } catch (err) {
      if ("rstCode" in this.#out) (this.#out as ServerHttp2Stream).close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
      else this.#out.destroy(err as Error);
      return false;
    }
  }
}
