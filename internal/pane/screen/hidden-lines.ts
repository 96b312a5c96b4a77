import type { MainLine } from "./main-lines.ts";

/** The most lines that are remembered, to find them again once the screen is known exactly. */
const KEPT = 2000;

/**
 * The lines of a main screen that was drawn from a capture made while an alternate screen covered it, which tmux cuts:
 * the lines as they were before, followed by the text printed since.
 */
export class HiddenLines {
  /** All of them have been reported. */
  readonly isReported: boolean;
  #lines: readonly MainLine[];

  constructor(lines: readonly MainLine[], isReported = false) {
    const cursor = lines.findIndex(({ hasCursor }) => hasCursor);
    const last = lines.findLastIndex(({ text }) => text.trim() !== "");
    this.#lines = lines.slice(0, Math.max(cursor, last + 1));
    this.isReported = isReported;
  }

  /** The lines, followed by those of `drawn` that were not reported: they came later. */
  with(drawn: readonly MainLine[]): readonly MainLine[] {
    const [first, ...others] = drawn.filter(({ isReported, text }) => !isReported && text.trim() !== "");
    if (first === undefined) return this.#lines;
    const continued = first.isRest ? this.#lines.findIndex(({ hasCursor }) => hasCursor) : -1;
    const isPassed = others.some(({ hasCursor }) => hasCursor) || first.hasCursor;
    const before = this.#lines.map((line, i) => {
      if (i === continued) return { ...line, text: line.text + first.text, hasCursor: first.hasCursor };
      return { ...line, hasCursor: line.hasCursor && !isPassed };
    });
    const behind = (first.isRest ? others : [first, ...others]).filter(({ isRest }) => !isRest);
    return [...before, ...behind];
  }

  /** Adds lines that were printed after the others and have been reported. */
  printed(lines: readonly MainLine[]): void {
    const all = this.with(lines.map((line) => ({ ...line, isReported: false })));
    this.#lines = all.slice(-KEPT).map((line) => ({ ...line, isReported: true }));
  }
}
