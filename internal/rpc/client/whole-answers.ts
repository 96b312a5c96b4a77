import type { ClientHttp2Stream } from "node:http2";

/** `NGHTTP2_NO_ERROR` */
const NO_ERROR = 0;

/**
 * Lets an answer be read that came whole before its reader began. A stream of HTTP/2 counts as closed from its last
 * frame on, and Node's iterators take a stream that is closed before they begin for one that broke off, whatever it
 * still holds. Under load, when a write makes TLS hand over several answers at once, that hits calls that have been
 * answered.
 */
export function keepWholeAnswers(stream: ClientHttp2Stream): void {
  const iterator = stream.iterator.bind(stream);
  stream.iterator = async function* (options) {
    if (!stream.closed || stream.destroyed || stream.rstCode !== NO_ERROR) return yield* iterator(options);
    for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) yield chunk;
  };
  stream[Symbol.asyncIterator] = stream.iterator;
}
