/** Runs async functions one after the other in the order of the calls; a failure of one does not stop the next. */
export class Serial {
  #tail: Promise<unknown> = Promise.resolve();

  inTurn<T>(fn: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(fn, fn);
    this.#tail = result.catch(() => {});
    return result;
  }
}
