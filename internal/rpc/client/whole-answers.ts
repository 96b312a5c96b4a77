import type { ClientHttp2Stream } from "node:http2";

/** `NGHTTP2_NO_ERROR` */
const NO_ERROR = 0;

/**
 * Lets a response be read that arrived completely before its reader began. An HTTP/2 stream counts as closed after its
 * last frame, and Node's iterators report a stream that was already closed as broken off, even if it still has data.
 * This happens under load, when one write makes TLS deliver several responses at once.
 */
export function keepWholeAnswers(stream: ClientHttp2Stream): void {
  const iterator = stream.iterator.bind(stream);
  stream.iterator = async function* (options) {
    if (!stream.closed || stream.destroyed || stream.rstCode !== NO_ERROR) return yield* iterator(options);
    for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) yield chunk;
  };
  stream[Symbol.asyncIterator] = stream.iterator;
}
