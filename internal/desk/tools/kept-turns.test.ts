import { expect, it } from "vitest";
import { KeptTurns } from "./kept-turns.ts";

interface Line {
  readonly type: "say" | "crossing" | "end";
  readonly turn: string;
  readonly text?: string;
}

const MIB = 1024 * 1024;
/** As a line it has six times its bytes. */
const LONG = "\u0001".repeat(64 * 1024);

function endTurns(kept: KeptTurns<Line>, count: number, text = ""): void {
  for (let i = 0; i < count; i++) {
    kept.take({ type: "say", turn: `${i}`, text });
    kept.take({ type: "end", turn: `${i}` });
  }
}

/** A journal that has grown to a size, and its content after the rewrite. */
class FakeJournal {
  bytes: number;
  lines: readonly Line[] | undefined;
  readonly #isFull: boolean;

  constructor(bytes: number, isFull = false) {
    this.bytes = bytes;
    this.#isFull = isFull;
  }

  rewrite(lines: readonly Line[]): void {
    if (this.#isFull) throw new Error("ENOSPC");
    this.lines = lines;
    this.bytes = Buffer.byteLength(lines.map((line) => JSON.stringify(line)).join("\n"));
  }

  get turns(): ReadonlySet<string> {
    return new Set(this.lines?.map(({ turn }) => turn));
  }
}

function shortened(kept: KeptTurns<Line>): FakeJournal {
  const journal = new FakeJournal(65 * MIB);
  kept.shorten(journal);
  return journal;
}

it("keeps a turn that has not ended, however many others have", () => {
  const kept = new KeptTurns<Line>();
  kept.take({ type: "say", turn: "waits", text: "a briefing" });
  endTurns(kept, 2000);
  expect(kept.open).toEqual(["waits"]);
  expect(shortened(kept).turns).toContain("waits");
  expect(kept.take({ type: "end", turn: "waits" })).toHaveLength(2);
  expect(kept.openBytes).toBe(0);
});

it("keeps the latest 500 ended turns, fewer if they are long", () => {
  const kept = new KeptTurns<Line>();
  endTurns(kept, 600);
  expect(shortened(kept).turns.size).toBe(500);
  endTurns(kept, 600, LONG);
  const { bytes, turns } = shortened(kept);
  expect(bytes).toBeLessThan(25 * MIB);
  expect(turns).toContain("599");
});

it("does not compact a journal that stays long, or cannot be written, until it has grown", () => {
  const kept = new KeptTurns<Line>();
  for (let i = 0; i < 300; i++) kept.take({ type: "say", turn: `${i}`, text: LONG });
  expect(shortened(kept).turns.size).toBe(300);
  const later = new FakeJournal(120 * MIB);
  kept.shorten(later);
  expect(later.lines).toBe(undefined);

  const full = new KeptTurns<Line>();
  expect(() => full.shorten(new FakeJournal(65 * MIB, true))).not.toThrow();
  const grown = [new FakeJournal(66 * MIB), new FakeJournal(98 * MIB)];
  for (const journal of grown) full.shorten(journal);
  expect(grown.map(({ lines }) => lines?.length)).toEqual([undefined, 0]);
});

it("keeps turns of one kind in the order of their ends, however many of the other kind follow", () => {
  const kept = new KeptTurns<Line>(({ type }) => type === "say");
  kept.take({ type: "say", turn: "first" });
  kept.take({ type: "end", turn: "first" });
  kept.take({ type: "crossing", turn: "briefing", text: "a briefing" });
  kept.take({ type: "end", turn: "briefing" });
  endTurns(kept, 499);
  expect([...shortened(kept).turns].slice(0, 2)).toEqual(["first", "briefing"]);
  endTurns(kept, 2000, LONG);
  const { bytes, turns } = shortened(kept);
  expect([...turns][0]).toBe("briefing");
  expect(bytes).toBeLessThan(25 * MIB);
  expect(kept.of("briefing")).toHaveLength(2);
});
