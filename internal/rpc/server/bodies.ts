import type { Call } from "./calls.ts";
import { mapParts } from "./map-parts.ts";

/** Flags, and the length of what follows. */
const PREFIX_BYTES = 5;

/** The body of a request with one message: all of it is held until the call has ended. @throws as `Call.hold` */
export function heldBody(body: AsyncIterable<Uint8Array>, call: Call): AsyncIterable<Uint8Array> {
  return mapParts(body, (chunk) => {
    call.hold(chunk.length);
    return chunk;
  });
}

/**
 * The body of a request with many messages: each is held until it is whole and its reader wants more.
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
 * An answer, each part of which waits until the caller has taken it: the next is asked for then. @throws as
 * `Call.answering`
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
  // The writer reports its failures to the handler, if the handler wants to know.
  if (parts.throw) held.throw = (err) => parts.throw?.(err) ?? Promise.reject(err);
  if (parts.return) held.return = () => parts.return?.() ?? Promise.resolve({ done: true, value: undefined });
  return { [Symbol.asyncIterator]: () => held };
}

/** Where messages end: each has its length before it (gRPC's framing, which Connect's streams have as well). */
class Framing {
  readonly #prefix = Buffer.alloc(PREFIX_BYTES);
  #prefixed = 0;
  #left = 0;

  /** Takes the next bytes; answers where the last message that is whole now ends among them, 0 when none does. */
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
