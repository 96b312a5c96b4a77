import type { Call } from "./calls.ts";
import { mapParts } from "./map-parts.ts";

/** Flags and payload length. */
const PREFIX_BYTES = 5;

/** The body of a unary request: all of it is counted until the call has ended. @throws as `Call.hold` */
export function heldBody(body: AsyncIterable<Uint8Array>, call: Call): AsyncIterable<Uint8Array> {
  return mapParts(body, (chunk) => {
    call.hold(chunk.length);
    return chunk;
  });
}

/**
 * The body of a streaming request: each message is counted until it is complete and its reader wants more.
 * @throws as `Call.hold`
 */
export async function* heldMessages(body: AsyncIterable<Uint8Array>, call: Call): AsyncGenerator<Uint8Array> {
  const framing = new Framing();
  let held = 0;
  for await (const chunk of body) {
    call.hold(chunk.length);
    held += chunk.length;
    const end = framing.end(chunk);
    yield chunk;
    if (end === 0) continue;
    const begun = chunk.length - end;
    call.release(held - begun);
    held = begun;
  }
}

/**
 * A response, each part of which is counted until the caller has taken it and the next part is requested.
 * @throws as `Call.answering`
 */
export function heldAnswer(body: AsyncIterable<Uint8Array>, call: Call): AsyncIterable<Uint8Array> {
  const parts = body[Symbol.asyncIterator]();
  const held: AsyncIterator<Uint8Array> = {
    async next() {
      call.answering(0);
      const part = await parts.next();
      if (part.done !== true) call.answering(part.value.length);
      return part;
    },
  };
  // The writer reports its errors to the handler, if the handler has these methods.
  if (parts.throw) held.throw = (err) => parts.throw?.(err) ?? Promise.reject(err);
  if (parts.return) held.return = () => parts.return?.() ?? Promise.resolve({ done: true, value: undefined });
  return { [Symbol.asyncIterator]: () => held };
}

/** Finds the ends of messages with a length prefix (gRPC's framing, which Connect's streams share). */
class Framing {
  readonly #prefix = Buffer.alloc(PREFIX_BYTES);
  #prefixed = 0;
  #left = 0;

  /**
   * Consumes the next bytes; returns the position in them at which the last complete message ends, 0 if none ends
   * there.
   */
  end(chunk: Uint8Array): number {
    let end = 0;
    for (let at = 0; at < chunk.length; ) {
      if (this.#prefixed < PREFIX_BYTES) at += this.#takePrefix(chunk.subarray(at));
      const part = Math.min(this.#left, chunk.length - at);
      this.#left -= part;
      at += part;
      if (this.#prefixed < PREFIX_BYTES || this.#left > 0) continue;
      this.#prefixed = 0;
      end = at;
    }
    return end;
  }

  #takePrefix(bytes: Uint8Array): number {
    const part = bytes.subarray(0, PREFIX_BYTES - this.#prefixed);
    this.#prefix.set(part, this.#prefixed);
    this.#prefixed += part.length;
    if (this.#prefixed === PREFIX_BYTES) this.#left = this.#prefix.readUInt32BE(1);
    return part.length;
  }
}
