import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { plainText, styledText } from "../../base/sanitise.ts";
import { Serial } from "../../base/serial.ts";
import { type LastLines, lastLines } from "./peek-text.ts";
import { standingAlone } from "./styled-lines.ts";

/** Reads history and screen from tmux: complete, exact, and expensive (10 ms for 10,000 lines). */
export interface PaneCapture {
  capture(options: {
    readonly start: number | "-";
    readonly escapes: boolean;
    readonly join: boolean;
  }): Promise<string>;
}

export interface DeepRequest {
  /** Infinity: all lines. */
  readonly count: number;
  readonly ansi: boolean;
  readonly join: boolean;
}

interface Entry {
  readonly at: number;
  readonly found: Promise<LastLines>;
  /** The signals of the calls that wait for it. */
  readonly signals: Set<AbortSignal>;
}

/** One answer serves all identical requests within this time. */
const CACHE_MS = 250;
/**
 * Depths of the captures to try first, in lines. A deeper one follows only if the lines found are too few and do not
 * fill an answer.
 */
const DEPTHS = [1000, 5000] as const;
/** Characters to clean in one go; other work runs between two slices. */
const SLICE_CHARS = 128 * 1024;

/**
 * The last lines as tmux has them. A screen full of styles costs a thousand times the work of a plain one, and a caller
 * can ask for all of it repeatedly. So this computes one answer at a time, in slices and from as few lines as possible,
 * shares it among identical requests, and drops a request whose callers have all disconnected.
 */
export class DeepPeek {
  readonly #clock: Clock;
  readonly #line = new Serial();
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * `version` changes with the screen. @throws as `capture`; DomainError `cancelled` when all callers have
   * disconnected
   */
  lines(pane: PaneCapture, request: DeepRequest, version: number, signal: AbortSignal): Promise<LastLines> {
    const now = this.#clock.monotonicMs();
    for (const [key, { at }] of this.#entries) if (now - at > CACHE_MS) this.#entries.delete(key);
    const key = JSON.stringify([request.count, request.ansi, request.join, version]);
    const known = this.#entries.get(key);
    if (known !== undefined) {
      known.signals.add(signal);
      return known.found;
    }
    const signals = new Set([signal]);
    const found = this.#line.inTurn(async () => {
      if ([...signals].every((each) => each.aborted))
        throw new DomainError("cancelled", "no caller is waiting for it any more");
      return await this.#search(pane, request);
    });
    this.#entries.set(key, { at: now, found, signals });
    found.catch(() => this.#entries.delete(key));
    return found;
  }

  async #search(pane: PaneCapture, request: DeepRequest): Promise<LastLines> {
    const { count, ansi, join } = request;
    for (const depth of DEPTHS) {
      if (count <= depth && !join) break; // the capture below reads no more lines than this one
      const text = await pane.capture({ start: -depth, escapes: ansi, join });
      const lines = await this.#cleaned(text, ansi);
      const isAll = !join && lines.length <= depth; // a longer history gives `depth` rows besides the screen's
      if (join) lines.shift(); // the first line may begin further up
      const found = lastLines(lines, count, isBlank);
      const isEnough = join && lines.findLastIndex((line) => !isBlank(line)) + 1 >= count;
      if (found.truncated || isAll || isEnough) return found;
    }
    const start = join || count === Number.POSITIVE_INFINITY ? "-" : -count;
    const text = await pane.capture({ start, escapes: ansi, join });
    return lastLines(await this.#cleaned(text, ansi), count, isBlank);
  }

  async #cleaned(text: string, ansi: boolean): Promise<string[]> {
    const raw = text.split("\n").map((line) => line.trimEnd());
    const rows = ansi ? standingAlone(raw) : raw;
    const clean = ansi ? styledText : plainText;
    const lines: string[] = [];
    let chars = 0;
    for (const row of rows) {
      lines.push(clean(row));
      chars += row.length;
      if (chars < SLICE_CHARS) continue;
      chars = 0;
      await this.#clock.sleep(0);
    }
    return lines;
  }
}

function isBlank(line: string): boolean {
  return plainText(line).trim() === "";
}
