/**
 * The same messages; `map` converts the error that ends them. Not a generator: one more generator per message costs
 * more than the rest of an interceptor.
 */
export function mapFailures<T>(messages: AsyncIterable<T>, map: (err: unknown) => unknown): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const inner = messages[Symbol.asyncIterator]();
      const done = { done: true, value: undefined } as const;
      return {
        next: () =>
          inner.next().catch((err: unknown) => {
            throw map(err);
          }),
        // Called when the messages cannot be forwarded: `reason` is the transport's, not the producer's.
        throw: (reason) => inner.throw?.(reason) ?? Promise.reject(reason),
        return: (value) => inner.return?.(value) ?? Promise.resolve(done),
      };
    },
  };
}
