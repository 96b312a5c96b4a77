import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { plainText } from "../../base/sanitise.ts";
import type { PeekRequest, PeekResult } from "../../session/types.ts";
import { DeepPeek, type PaneCapture } from "./deep-peek.ts";
import { HistorySize, type PaneHistory } from "./history-size.ts";
import { EMULATOR_SCROLLBACK, type OutputStream } from "./output.ts";
import { joinRows, type LastLines, lastLines, linesWanted } from "./peek-text.ts";

/**
 * How long a peek waits for received bytes to be drawn before it asks tmux: in a flood they are drawn late, or not at
 * all.
 */
const DRAW_WAIT_MS = 50;

/** A serving half that has just started waits this long for the screen. */
export const FIRST_SCREEN_MS = 2000;
type PaneSource = (signal: AbortSignal) => PaneCapture | undefined | Promise<PaneCapture | undefined>;
const NEVER = new AbortController().signal;

/**
 * Answers peeks: from the emulator if it holds enough, otherwise from tmux, with one capture for simultaneous identical
 * requests.
 */
export class Peeker {
  readonly #output: OutputStream;
  readonly #pane: () => (PaneCapture & PaneHistory) | undefined;
  readonly #paneForPeek: () => (signal: AbortSignal) => Promise<PaneCapture | undefined>;
  readonly #alive: () => boolean;
  readonly #deep: DeepPeek;
  readonly #history: HistorySize;
  #nearest: { readonly key: string; readonly found: LastLines | undefined } | undefined;

  constructor(deps: {
    readonly clock: Clock;
    readonly output: OutputStream;
    /** Undefined while tmux is away: then the answer holds only the emulator's lines. */
    readonly pane: () => (PaneCapture & PaneHistory) | undefined;
    /**
     * Starts a time limit; the returned function waits for the pane until that limit. If it resolves with undefined or
     * fails with `unavailable`, the answer holds only the emulator's lines.
     */
    readonly paneForPeek: () => (signal: AbortSignal) => Promise<PaneCapture | undefined>;
    readonly alive: () => boolean;
  }) {
    this.#deep = new DeepPeek(deps.clock);
    this.#history = new HistorySize(deps.clock);
    this.#output = deps.output;
    this.#pane = deps.pane;
    this.#paneForPeek = deps.paneForPeek;
    this.#alive = deps.alive;
  }

  /** Answers with the emulator's lines while tmux is away, without waiting for its return. */
  peek(request: PeekRequest): Promise<PeekResult> {
    return this.#peek(request, () => this.#pane(), NEVER);
  }

  /**
   * Answers a call: waits a moment for tmux rather than answer with fewer lines. Once `signal` is aborted, nothing more
   * is fetched from tmux.
   */
  peekForCall(request: PeekRequest, signal: AbortSignal): Promise<PeekResult> {
    return this.#peek(request, this.#paneForPeek(), signal);
  }

  async #peek(request: PeekRequest, pane: PaneSource, signal: AbortSignal): Promise<PeekResult> {
    const count = request.all ? Number.POSITIVE_INFINITY : linesWanted(request.lines);
    await this.#output.known(FIRST_SCREEN_MS);
    const isDrawn = this.#output.drawnTo === this.#output.ring.end || (await this.#output.drawn(DRAW_WAIT_MS));
    const near = request.all || request.ansi || !isDrawn ? undefined : this.#near(count, request.joinWrapped);
    const found =
      near ?? (await this.#fromTmux(count, request, pane, signal)) ?? this.#allOfEmulator(count, request.joinWrapped);
    const facts = this.#facts(); // taken at the same moment as the lines
    const held = { historyLines: this.#output.emulator.historyLines, cap: EMULATOR_SCROLLBACK };
    return { ...found, ...facts, historyLines: await this.#history.lines(held, this.#pane()) };
  }

  /** Like `#fromEmulator`, but computes the answer only once for the same request on the same screen. */
  #near(count: number, join: boolean) {
    const key = `${this.#output.emulator.version} ${count} ${join}`;
    if (this.#nearest?.key !== key) this.#nearest = { key, found: this.#fromEmulator(count, join) };
    return this.#nearest.found;
  }

  /** The last lines as the emulator has them, without asking tmux; undefined when the emulator does not hold enough. */
  #fromEmulator(count: number, join: boolean) {
    const { emulator } = this.#output;
    const held = emulator.historyLines + emulator.rows;
    const limit = Math.min(held, count * 2 + emulator.rows);
    const rows = emulator.rowsText(limit);
    // The first rows may continue a row that was not read: they are only part of a line.
    const whole = rows.findIndex((row) => !row.wrapped);
    const lines = asLines(join ? rows.slice(whole < 0 ? rows.length : whole) : rows, join);
    const used = lines.findLastIndex((line) => line.trim() !== "") + 1;
    const isAll = this.#output.isWhole && emulator.historyLines === 0 && !emulator.alternate && limit === held;
    if (used < count && !isAll) return undefined;
    return cleanLastLines(lines, count);
  }

  #allOfEmulator(count: number, join: boolean) {
    const rows = this.#output.emulator.rowsText(Number.POSITIVE_INFINITY);
    return cleanLastLines(asLines(rows, join), count);
  }

  async #fromTmux(count: number, request: PeekRequest, paneOf: PaneSource, signal: AbortSignal) {
    const { ansi, joinWrapped: join } = request;
    try {
      const pane = await paneOf(signal);
      if (pane === undefined) return undefined;
      return await this.#deep.lines(pane, { count, ansi, join }, this.#output.emulator.version, signal);
    } catch (err) {
      if (err instanceof DomainError && (err.kind === "unavailable" || err.kind === "precondition")) return undefined;
      throw err;
    }
  }

  #facts() {
    const { emulator, epoch, drawnTo } = this.#output;
    return {
      alive: this.#alive(),
      alternateScreen: emulator.alternate,
      cols: emulator.cols,
      rows: emulator.rows,
      cursorX: emulator.cursor.x,
      cursorY: emulator.cursor.y,
      epoch,
      offset: drawnTo,
    };
  }
}

function asLines(rows: readonly { readonly text: string; readonly wrapped: boolean }[], join: boolean): string[] {
  return join ? joinRows(rows) : rows.map((row) => row.text.trimEnd());
}

/** An emulator's text has no control characters, but it may contain bidirectional overrides. */
function cleanLastLines(lines: readonly string[], count: number): LastLines {
  const { output, truncated } = lastLines(lines, count);
  return { output: plainText(output), truncated };
}
