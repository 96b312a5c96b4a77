import type { ComposerView } from "../../agents/profile.ts";
import { ComposerProbe } from "./probe.ts";
import { isResidue } from "./residue.ts";

type Composer = Pick<ComposerView, "text" | "pasteMarkers">;

/** The most texts that are remembered; older ones are forgotten. */
export const UNSUBMITTED_KEEP = 8;
/** An empty composer on a screen that has been quiet for this long is not a half-drawn one. */
const QUIET_MS = 200;
/** After a hang the agent may draw other things first: the typed text shows at most this much later. */
const LATE_MS = 10_000;
/** Claude Code folds a paste of one long line without showing its size. */
const FOLDED_LENGTH = 800;
const MARKER = /\[Pasted[^\]\n]*\]/g;

/**
 * Our texts that may be in the agent's composer: typed, and not seen to leave. Recognises them, alone or several in a
 * row, so that they can be removed. Any other text in a composer is a person's.
 */
export class UnsubmittedTexts {
  #texts: readonly string[];
  #drawn: string | undefined;
  #residue = "";
  #undrawnSince: number | undefined;
  #drawnAt: number | undefined;

  /** `texts`: the texts that an earlier process may have left in the composer, oldest first. */
  constructor(texts: readonly string[] = []) {
    this.#texts = texts.slice(-UNSUBMITTED_KEEP);
  }

  /** `drawn`: the composer when it showed this text and nothing else, if that was seen. */
  left(text: string, drawn?: string): void {
    this.#texts = [...this.#texts, text].slice(-UNSUBMITTED_KEEP);
    this.#drawn = drawn;
  }

  /** Call it when no text is left in the composer. */
  gone(): void {
    this.#texts = [];
    this.#drawn = undefined;
    this.undrawn(undefined);
  }

  /**
   * Notes that the text typed at that time (monotonic ms) has not been drawn: an empty composer proves nothing for a
   * while. Undefined: all typed text has been drawn.
   */
  undrawn(since: number | undefined): void {
    this.#undrawnSince = since;
    this.#drawnAt = undefined;
  }

  /** The residue on the screen of an empty composer, see `residueOn`; or empty. */
  get residue(): string {
    return this.#residue;
  }

  /** Notes the residue; returns true if there is one. */
  noteResidue(residue: string | undefined): boolean {
    this.#residue = residue ?? this.#residue;
    return residue !== undefined;
  }

  isEmpty({ text, pasteMarkers }: Composer): boolean {
    return pasteMarkers === 0 && (text === "" || isResidue(text, this.#residue));
  }

  /**
   * True if the composer contains no person's text. Call it for every composer that is seen: after an empty one, later
   * text is not ours.
   */
  isOurs(composer: Composer, quietMs: number, now: number): boolean {
    if (composer.text === "" && quietMs >= QUIET_MS) this.#residue = "";
    if (this.isEmpty(composer)) {
      if (this.#texts.length > 0 && quietMs >= QUIET_MS && this.#isDrawn(quietMs, now)) this.gone();
      return true;
    }
    return this.knows(composer);
  }

  /** True if all typed text has been drawn, or has had enough time to be drawn. */
  #isDrawn(quietMs: number, now: number): boolean {
    if (this.#undrawnSince === undefined) return true;
    if (now - quietMs <= this.#undrawnSince) return false;
    this.#drawnAt ??= now;
    return now - this.#drawnAt >= LATE_MS;
  }

  /** True if the composer holds one of the texts, or several in a row, and nothing else. */
  knows(composer: Composer): boolean {
    if (this.#texts.length === 0) return false;
    if (composer.text === this.#drawn) return true;
    return runsOf(this.#texts).some((run) => isDrawingOf(composer, run));
  }
}

/** All sequences of consecutive texts, those that end with the last text first: they are the most probable. */
function runsOf(texts: readonly string[]): readonly (readonly string[])[] {
  const ends = texts.map((_, i) => texts.length - i);
  return ends.flatMap((end) => texts.slice(0, end).map((_, i) => texts.slice(end - 1 - i, end)));
}

function isDrawingOf(composer: Composer, run: readonly string[]): boolean {
  const standing = new ComposerProbe(run.join("")).presenceOf(composer);
  if (standing !== "there" && standing !== "worn") return false;
  const markers = composer.text.match(MARKER) ?? [];
  return markers.length <= run.length && markers.every((marker) => run.some((text) => foldsTo(text, marker)));
}

/** The marker names the size of the folded text, in characters or lines. */
function foldsTo(text: string, marker: string): boolean {
  const lineFeeds = text.split("\n").length - 1;
  const characters = /(\d+) chars/.exec(marker)?.[1];
  if (characters !== undefined) return Number(characters) === [...text].length;
  const more = /\+(\d+) lines/.exec(marker)?.[1];
  if (more !== undefined) return Number(more) === lineFeeds;
  const lines = /~(\d+) lines/.exec(marker)?.[1];
  if (lines !== undefined) return Math.abs(Number(lines) - lineFeeds) <= 1;
  return text.length >= FOLDED_LENGTH;
}
