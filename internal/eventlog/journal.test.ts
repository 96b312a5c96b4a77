import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { JOURNAL_MAX_BYTES, Journal } from "./journal.ts";
import { LINE_MAX_BYTES } from "./journal-lines.ts";

interface Word {
  readonly word: string;
}

function parse(value: unknown): Word | undefined {
  const word = (value as { word?: unknown } | null)?.word;
  return typeof word === "string" ? { word } : undefined;
}

let dir = "";
let path = "";
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "gt-journal-"));
  path = join(dir, "journal.jsonl");
});
afterEach(() => rmSync(dir, { recursive: true }));

function emptyFile(): string {
  writeFileSync(path, "");
  return path;
}

function opened() {
  const words: string[] = [];
  const heard: string[] = [];
  const take = ({ word }: Word) => {
    words.push(word);
    heard.push(word);
  };
  const found = Journal.open<Word>(path, { parse, take, damaged: () => heard.push("(damaged)") });
  return { ...found, words, heard };
}

function reopened() {
  const { journal, ...found } = opened();
  journal.close();
  return found;
}

it("keeps records in order from one opening to the next, in a private file", () => {
  const { journal, words } = opened();
  expect(words).toEqual([]);
  journal.append({ word: "one" });
  journal.append({ word: "two\nlines and ü" });
  expect(journal.bytes).toBe(statSync(path).size);
  journal.close();
  expect(reopened().words).toEqual(["one", "two\nlines and ü"]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it("has a record in the file when append returns", () => {
  const { journal } = opened();
  journal.append({ word: "now" });
  expect(readFileSync(path, "utf8")).toMatch(/^[0-9a-f]{8} {"word":"now"}\n$/);
  journal.close();
});

it("removes a torn last line, so that the next record has its own line", () => {
  writeFileSync(path, '{"word":"whole"}\n{"word":"to');
  const { journal, words, damaged } = opened();
  expect([words, damaged]).toEqual([["whole"], 0]);
  journal.append({ word: "next" });
  journal.close();
  expect(readFileSync(path, "utf8")).toMatch(/^{"word":"whole"}\n[0-9a-f]{8} {"word":"next"}\n$/);
});

it("skips and counts invalid lines, and keeps the others", () => {
  writeFileSync(path, '{"word":"a"}\nnot json\n\n{"word":1}\nnull\n{"word":"b"}\n');
  expect(reopened()).toMatchObject({ words: ["a", "b"], damaged: 4 });
});

it("replaces everything in one step, and continues with the new file", () => {
  const { journal } = opened();
  for (const word of ["a", "b", "c"]) journal.append({ word });
  const before = statSync(path).ino;
  journal.rewrite([{ word: "c" }]);
  expect(statSync(path).ino).not.toBe(before);
  journal.append({ word: "d" });
  expect(journal.bytes).toBe(statSync(path).size);
  journal.close();
  expect(reopened().words).toEqual(["c", "d"]);
});

it("starts over a rewrite that an earlier process did not finish", () => {
  writeFileSync(path, '{"word":"old"}\n');
  writeFileSync(`${path}.next`, '{"word":"half');
  const { journal } = opened();
  journal.rewrite([{ word: "new" }]);
  journal.close();
  expect(reopened().words).toEqual(["new"]);
});

it("keeps the old records if a record cannot be rewritten", () => {
  const { journal } = opened();
  journal.append({ word: "old" });
  const unwritable = {
    toJSON: () => {
      throw new Error("no text");
    },
  } as unknown as Word;
  expect(() => journal.rewrite([{ word: "new" }, unwritable])).toThrow("no text");
  journal.append({ word: "more" });
  journal.close();
  expect(reopened().words).toEqual(["old", "more"]);
});

it("closes and removes everything if a rewrite fails", () => {
  const { journal } = opened();
  const unwritable = {
    toJSON: () => {
      throw new Error("no text");
    },
  } as unknown as Word;
  const open = readdirSync("/dev/fd").length;
  for (let i = 0; i < 20; i++) expect(() => journal.rewrite([{ word: "new" }, unwritable])).toThrow("no text");
  expect(readdirSync("/dev/fd")).toHaveLength(open);
  expect(readdirSync(dir)).toEqual(["journal.jsonl"]);
  journal.close();
});

it("accepts a file that others appended to", () => {
  const { journal } = opened();
  journal.close();
  appendFileSync(path, '{"word":"x"}\n');
  expect(reopened().words).toEqual(["x"]);
});

it("fails if the folder does not exist", () => {
  expect(() => Journal.open(join(dir, "none", "journal"), { parse, take: () => {} })).toThrow(/ENOENT/);
});

it.each([
  ["a FIFO", () => execFileSync("mkfifo", [path])],
  ["a folder", () => mkdirSync(join(path, "deep"), { recursive: true })],
  ["a link to an endless device", () => symlinkSync("/dev/zero", path)],
  ["a link to another file", () => symlinkSync(join(dir, "other"), path)],
  ["a file larger than any journal", () => truncateSync(emptyFile(), JOURNAL_MAX_BYTES + 1)],
])("replaces %s with a new journal, and reports it", (_, put) => {
  writeFileSync(join(dir, "other"), '{"word":"not ours"}\n');
  put();
  const { journal, words, replaced } = opened();
  expect([words, replaced]).toEqual([[], true]);
  journal.append({ word: "a" });
  journal.close();
  expect(reopened().words).toEqual(["a"]);
  expect(readFileSync(join(dir, "other"), "utf8")).toBe('{"word":"not ours"}\n');
});

it.each([
  ["removed", () => {}],
  ["another file", () => writeFileSync(path, '{"word":"not ours"}\n')],
  ["a folder", () => mkdirSync(join(path, "deep"), { recursive: true })],
])("detects that its file was removed (%s), and is in place again after a rewrite", (_, put) => {
  const { journal } = opened();
  journal.append({ word: "a" });
  expect(journal.isInPlace).toBe(true);
  rmSync(path);
  put();
  expect(journal.isInPlace).toBe(false);
  journal.rewrite([{ word: "a" }, { word: "b" }]);
  expect(journal.isInPlace).toBe(true);
  journal.append({ word: "c" });
  journal.close();
  expect(reopened().words).toEqual(["a", "b", "c"]);
});

it("finds every flipped bit, and loses only the records that it hit", () => {
  const { journal } = opened();
  const words = ["a", "b"];
  for (const word of words) journal.append({ word });
  journal.close();
  const whole = readFileSync(path);
  for (let bit = 0; bit < whole.length * 8; bit++) {
    const flipped = Buffer.from(whole);
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    writeFileSync(path, flipped);
    const found = reopened();
    const isLastLineFeed = bit >> 3 === whole.length - 1;
    expect(
      words.filter((word) => found.words.includes(word)),
      `bit ${bit}`,
    ).toEqual(found.words);
    expect(found.words.length < 2 && (found.damaged > 0 || isLastLineFeed), `bit ${bit}`).toBe(true);
  }
});

it("reports a loss at its position, and stores the bytes in a private file", () => {
  const { journal } = opened();
  for (const word of ["a", "b", "c"]) journal.append({ word });
  journal.close();
  writeFileSync(path, readFileSync(path, "utf8").replace('"b"', '"x"'));
  expect(reopened().heard).toEqual(["a", "(damaged)", "c"]);
  expect(readFileSync(`${path}.damaged`, "utf8")).toMatch(/^[0-9a-f]{8} {"word":"x"}\n$/);
  expect(statSync(`${path}.damaged`).mode & 0o777).toBe(0o600);
});

it("accepts no line without a checksum after one that has it", () => {
  const { journal } = opened();
  journal.append({ word: "ours" });
  journal.close();
  appendFileSync(path, '{"word":"not ours"}\n');
  expect(reopened()).toMatchObject({ words: ["ours"], damaged: 1 });
});

it("continues after a line that is longer than any record, whatever its length", () => {
  const { journal } = opened();
  journal.append({ word: "before" });
  journal.append({ word: "x".repeat(LINE_MAX_BYTES) });
  journal.append({ word: "after" });
  journal.close();
  expect(reopened()).toMatchObject({ words: ["before", "after"], damaged: 1 });
});
