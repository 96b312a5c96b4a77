import { Emulator } from "../../../internal/pane/screen/emulator.ts";
import { comparablePane, TmuxStage } from "./tmux-stage.ts";

const COLS = 40;
const ROWS = 12;
/** The number of sequences printed together; the cause of a difference is sought among them. */
const BATCH = 25;

interface Piece {
  readonly kind: string;
  readonly text: string;
}

type Random = () => number;
const below = (random: Random, limit: number) => Math.floor(random() * limit);
const csi = (final: string, ...params: readonly (number | string)[]) => `\x1b[${params.join(";")}${final}`;

/** Sequences that programs print, by kind, except those that tmux answers, and those that request another size. */
const KINDS: Readonly<Record<string, (random: Random) => string>> = {
  text: (random) => "the quick brown fox jumps over the lazy dog ".slice(0, 1 + below(random, 44)),
  wide: (random) => ["日本語", "한국어", "｜full｜", "🎉", "👍", "é", "e\u0301"][below(random, 7)] ?? "",
  "line end": (random) => ["\r\n", "\n", "\r", "\b", "\t"][below(random, 5)] ?? "",
  place: (random) => csi("H", 1 + below(random, ROWS + 2), 1 + below(random, COLS + 2)),
  move: (random) => csi("ABCDEFGd"[below(random, 8)] ?? "A", 1 + below(random, 6)),
  "rare move": (random) => csi("`ae"[below(random, 3)] ?? "a", 1 + below(random, 6)),
  erase: (random) => csi("JK"[below(random, 2)] ?? "J", below(random, 3)),
  "erase characters": (random) => csi("X", 1 + below(random, 10)),
  insert: (random) => csi("@LP"[below(random, 3)] ?? "@", 1 + below(random, 5)),
  delete: (random) => csi("M", 1 + below(random, 4)),
  scroll: (random) => csi("ST"[below(random, 2)] ?? "S", 1 + below(random, 4)),
  region: (random) => csi("r", 1 + below(random, 5), 7 + below(random, 6)),
  "whole region": () => csi("r"),
  index: (random) => ["\x1bD", "\x1bM", "\x1bE"][below(random, 3)] ?? "",
  style: (random) => csi("m", [0, 1, 2, 3, 4, 7, 9, 22, 24, 27, 31, 42, 91, 104, 39, 49][below(random, 16)] ?? 0),
  "256 colours": (random) => csi("m", 38, 5, below(random, 256)),
  "true colour": (random) => csi("m", 48, 2, below(random, 256), below(random, 256), below(random, 256)),
  "cursor saved": (random) => ["\x1b7", "\x1b8"][below(random, 2)] ?? "",
  "cursor shown": (random) => csi("lh"[below(random, 2)] ?? "h", "?25"),
  insertion: (random) => csi("lh"[below(random, 2)] ?? "h", 4),
  origin: (random) => csi("lh"[below(random, 2)] ?? "h", "?6"),
  wrap: (random) => csi("lh"[below(random, 2)] ?? "h", "?7"),
  "alternate screen": (random) => csi("lh"[below(random, 2)] ?? "h", "?1049"),
  keys: (random) => ["\x1b[?1h", "\x1b[?1l", "\x1b=", "\x1b>"][below(random, 4)] ?? "",
  mouse: (random) => csi("lh"[below(random, 2)] ?? "h", `?${[1000, 1002, 1003, 1006][below(random, 4)]}`),
  "tab stops": (random) => ["\x1bH", "\x1b[g", "\x1b[3g"][below(random, 3)] ?? "",
  repeat: (random) => csi("b", 1 + below(random, 5)),
  "line drawing": (random) => ["\x1b(0lqqk\x1b(B", "\x1b(0", "\x1b(B"][below(random, 3)] ?? "",
  string: (random) =>
    ["\x1b]52;c;eA==\x07", "\x1bP1$r0m\x1b\\", "\x1b_x\x1b\\", "\x1b]8;;http://x\x1b\\"][below(random, 4)] ?? "",
};

export interface EmulatorDifferences {
  readonly compared: number;
  /** By cause, or by the kinds of sequences that suffice to show a difference without a known cause. */
  readonly kinds: ReadonlyMap<string, { readonly count: number; readonly example: string }>;
}

/** Prints sequences on both, in batches that each begin with a reset, and reduces differences to few sequences. */
export async function fuzzEmulator(
  options: {
    readonly sequences: number;
    readonly seed: number;
    /** Default: all. */
    readonly only?: readonly string[];
    readonly say?: (text: string) => void;
  },
  signal: AbortSignal,
): Promise<EmulatorDifferences> {
  const random = generator(options.seed);
  const all = options.only ?? Object.keys(KINDS);
  const kinds = new Map<string, { count: number; example: string }>();
  await using stage = await TmuxStage.open(COLS, ROWS);
  let compared = 0;
  for (; compared < options.sequences && !signal.aborted; compared += BATCH) {
    const pieces = Array.from({ length: BATCH }, (): Piece => {
      const kind = random() < 0.35 ? "text" : (all[below(random, all.length)] ?? "text");
      return { kind, text: KINDS[kind]?.(random) ?? "" };
    });
    if (compared % 5000 === 0) options.say?.(`${compared} sequences, ${kinds.size} kinds of differences`);
    const found = await difference(stage, pieces);
    if (found === undefined) continue;
    const fewest = await reduced(stage, pieces, found);
    const names = new Set(fewest.map((piece) => piece.kind));
    const example = fewest.map(({ text }) => text).join("");
    const why = causeOf(found, names, example);
    const kind = why === UNKNOWN ? `${why}: ${found}, ${[...names].sort().join(" + ")}` : why;
    const known = kinds.get(kind);
    if (known === undefined) kinds.set(kind, { count: 1, example });
    else known.count++;
  }
  return { compared, kinds };
}

/** The start of each batch, so that the saved cursor and mode are the same on both. */
const BEGIN = "\x1b[?1049h\x1b[?1049l\x1b7";

/**
 * The known and harmless causes of differences: the kind of the difference, and the kinds of sequences that it needs.
 */
const CAUSES: readonly (readonly [why: string, found: Difference | "any", kinds: readonly string[], text?: RegExp])[] =
  [
    ["which rows the next one continues", "joins", []],
    ["which rows the next one continues", "screen", ["line end"], /\x08/],
    ["insertion mode at the end of a row", "any", ["insertion"]],
    ["inserting as many characters as a row has left", "any", ["insert", "text"]],
    ["a cursor outside of the region under origin mode", "screen", ["origin", "region"]],
    ["wrapping turned off", "any", ["wrap"]],
    ["a row of erased cells that goes into the history, or does not", "history", ["erase"]],
    ["half of a wide character that was overwritten or erased", "screen", ["wide"]],
    ["half of a wide character that was overwritten or erased", "history", ["wide"]],
    ["repeating behind a sequence that tmux does not know", "any", ["rare move", "repeat"]],
  ];

export const UNKNOWN = "not explained";

function causeOf(found: Difference, kinds: ReadonlySet<string>, text: string): string {
  const known = CAUSES.find(
    ([, what, needed, part = /./]) =>
      (what === "any" || what === found) && needed.every((kind) => kinds.has(kind)) && part.test(text),
  );
  return known?.[0] ?? UNKNOWN;
}

/**
 * Undefined: both show the same. `joins`: only the marks of wrapped rows differ. `history`: only rows that have
 * scrolled off differ.
 */
type Difference = "screen" | "history" | "joins" | undefined;

async function difference(stage: TmuxStage, pieces: readonly Piece[]): Promise<Difference> {
  const text = BEGIN + pieces.map((piece) => piece.text).join("");
  const emulator = new Emulator({ cols: COLS, rows: ROWS, scrollback: 1000 });
  await emulator.write(text);
  const truth = comparablePane(await stage.show(text), "blank");
  const { alternate } = truth.facts;
  const history = alternate ? [] : await stage.history();
  const cells = await stage.cells();
  const shown = comparablePane(await stage.show(emulator.redraw()), "blank");
  if (!same(await stage.cells(), cells) || !same(shown.facts, truth.facts)) return "screen";
  const held = alternate ? [] : emulator.rowsText(1000 + ROWS).map((row) => row.text.trimEnd());
  if (!same(held.slice(0, held.findLastIndex((row) => row !== "") + 1), history)) return "history";
  return same(shown, truth) ? undefined : "joins";
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Removes sequences that are not needed to show the difference. */
async function reduced(stage: TmuxStage, pieces: readonly Piece[], found: Difference): Promise<readonly Piece[]> {
  let rest = pieces;
  for (let size = Math.ceil(rest.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < rest.length; ) {
      const without = [...rest.slice(0, at), ...rest.slice(at + size)];
      if (without.length > 0 && (await difference(stage, without)) === found) rest = without;
      else at += size;
    }
  }
  return rest;
}

/** Pseudorandom numbers that are the same in each run (mulberry32): 0 ≤ n < 1. */
function generator(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
