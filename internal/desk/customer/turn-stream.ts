/** Passes the values of one turn to its one reader, in order. */
export class TurnStream<T> {
  readonly #values: T[] = [];
  #isEnded = false;
  #wake: () => void = () => {};

  push(value: T): void {
    this.#values.push(value);
    this.#wake();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  async *read(): AsyncGenerator<T, void, undefined> {
    for (;;) {
      const value = this.#values.shift();
      if (value !== undefined) yield value;
      else if (this.#isEnded) return;
      else {
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#wake = resolve;
        await promise;
      }
    }
  }
}
