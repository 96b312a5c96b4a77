/** Maps each part, and calls `atEnd` after the last. Not a generator, for the reason given at `mapFailures`. */
export function mapParts(
  body: AsyncIterable<Uint8Array>,
  map: (part: Uint8Array) => Uint8Array,
  atEnd: () => void = () => {},
): AsyncIterable<Uint8Array> {
  const parts = body[Symbol.asyncIterator]();
  const mapped: AsyncIterator<Uint8Array> = {
    async next() {
      const part = await parts.next();
      if (part.done !== true) return { done: false, value: map(part.value) };
      atEnd();
      return part;
    },
  };
  // The writer reports its errors to the handler, if the handler has these methods.
  if (parts.throw) mapped.throw = (err) => parts.throw?.(err) ?? Promise.reject(err);
  if (parts.return) mapped.return = () => parts.return?.() ?? Promise.resolve({ done: true, value: undefined });
  return { [Symbol.asyncIterator]: () => mapped };
}
