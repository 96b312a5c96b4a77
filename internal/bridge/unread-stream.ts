import type { DescMessage } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { raceSignal } from "../base/abort.ts";
import { FrameSink } from "../rpc/server/frame-sink.ts";
import { EncodedFrame, type FrameTarget } from "../rpc/server/frames.ts";
import { sendHead } from "../rpc/server/response-head.ts";
import type { EncodedMessage } from "./session-backend.ts";

/** While more than this is unsent, a reader gets nothing new; this bounds the memory of a stalled reader. */
export const UNREAD_BYTES = 64 * 1024;

/**
 * A streaming response that bypasses Connect: sends the headers at once, then what `write` writes. The handler must
 * validate the request before it calls this.
 */
export function unreadStream(
  context: HandlerContext,
  write: (target: FrameTarget, signal: AbortSignal) => Promise<void>,
): AsyncIterable<never> {
  sendHead(context);
  const next = async (): Promise<IteratorResult<never>> => {
    await write(new FrameSink(context), context.signal);
    return { done: true, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next }) };
}

/** Writes messages as fast as the target accepts them. */
export async function pipeMessages(
  messages: AsyncIterable<EncodedMessage>,
  frames: SharedFrames,
  target: FrameTarget,
  signal: AbortSignal,
): Promise<void> {
  for await (const payload of messages) {
    target.send(frames.of(payload));
    if (target.backlog < UNREAD_BYTES) continue;
    await raceSignal(new Promise<void>((resolve) => target.onDrain(resolve)), signal);
  }
}

/** Encodes messages for several targets: each is enveloped once. */
export class SharedFrames {
  readonly #schema: DescMessage;
  readonly #frames = new WeakMap<EncodedMessage, EncodedFrame>();

  constructor(schema: DescMessage) {
    this.#schema = schema;
  }

  of(payload: EncodedMessage): EncodedFrame {
    const known = this.#frames.get(payload);
    if (known !== undefined) return known;
    const frame = new EncodedFrame(this.#schema, payload);
    this.#frames.set(payload, frame);
    return frame;
  }
}
