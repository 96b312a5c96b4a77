import { type ClientHttp2Stream, constants } from "node:http2";

/**
 * Lets an answer be read that came whole before its reader began. A stream of HTTP/2 counts as closed from its last frame on, and
 * Node's iterators take a stream that is closed before they begin for one that broke off, whatever it still holds. Under load, when
 * a write makes TLS hand over several answers at once, that hits calls that have been answered.
 */
export function keepWholeAnswers(stream: ClientHttp2Stream): ClientHttp2Stream {
  const iterator = stream.iterator.bind(stream);
  const chunks: typeof stream.iterator = (options) => chunksOf(stream, () => iterator(options));
  return Object.assign(stream, { iterator: chunks, [Symbol.asyncIterator]: () => chunks() });
}

async function* chunksOf(stream: ClientHttp2Stream, otherwise: () => NodeJS.AsyncIterator<Buffer>) {
  if (!isWhole(stream)) return yield* otherwise();
  for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) yield chunk;
}

function isWhole(stream: ClientHttp2Stream): boolean {
  return stream.closed && !stream.destroyed && stream.rstCode === constants.NGHTTP2_NO_ERROR;
}
