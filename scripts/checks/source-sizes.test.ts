import { describe, expect, it } from "vitest";
import { danglingOpeners, misnamed, oversized, type SourceFile } from "./source-sizes.ts";

const file = (path: string, lines: number): SourceFile => ({ path, text: "x\n".repeat(lines) });

describe("the check of sizes", () => {
  it("accepts sizes at their limits", () => {
    const room = Array.from({ length: 25 }, (_, i) => file(`internal/a/f${i}.ts`, 80));
    expect(oversized([...room, file("internal/b/long.ts", 350)])).toEqual([]);
  });

  it("names a file that is too long, including a test", () => {
    expect(oversized([file("internal/a/x.test.ts", 351)])).toEqual(["internal/a/x.test.ts has 351 lines; at most 350"]);
  });

  it("names a room with too many files or lines, not counting its tests", () => {
    const many = Array.from({ length: 26 }, (_, i) => file(`internal/a/f${i}.ts`, 1));
    const tests = Array.from({ length: 26 }, (_, i) => file(`internal/b/f${i}.test.ts`, 1));
    const long = Array.from({ length: 10 }, (_, i) => file(`internal/c/f${i}.ts`, 301));
    const short = Array.from({ length: 20 }, (_, i) => file(`internal/d${i}/f.ts`, 1));
    expect(oversized([...many, ...tests, ...long, ...short])).toEqual([
      "internal/a/ has 26 source files; at most 25",
      "internal/c/ has 3010 lines of source; at most 3000",
    ]);
  });

  it("names the median", () => {
    expect(oversized([file("a/a.ts", 10), file("b/b.ts", 81), file("c/c.ts", 90)])).toEqual([
      "the median of the source files has 81 lines; at most 80",
    ]);
  });

  it("names comments that are too wide, but no code", () => {
    const wide = "x".repeat(120);
    const text = `// ${wide}\nconst a = "${wide}";\n/**\n * ${wide}\n */\n  // ${"é".repeat(115)}\n`;
    expect(oversized([{ path: "a/a.ts", text }])).toEqual([
      "a/a.ts:1 has 123 columns of comment; at most 120",
      "a/a.ts:4 has 123 columns of comment; at most 120",
    ]);
  });
});

describe("the names of files", () => {
  const named = (path: string, text: string) => misnamed([{ path, text }]);

  it("are those of their only class, or a part of it", () => {
    expect(named("a/http2-session.ts", "export class Http2Session {}\n")).toEqual([]);
    expect(named("a/grpc-backend.ts", "export class GRPCBackend {}\n")).toEqual([]);
    expect(named("tmux/pane.ts", "export class TmuxPane {}\n")).toEqual([]);
    expect(named("a/session.ts", "export interface Session {}\nexport class EventLog {}\n")).toEqual([
      "a/session.ts has the class EventLog alone: event-log.ts",
    ]);
  });

  it("are free where there is no class, or something beside it", () => {
    expect(named("a/words.ts", "export const a = 1;\n")).toEqual([]);
    expect(named("a/errors.ts", "export class A {}\nexport function isA() {}\n")).toEqual([]);
  });
});

const openersIn = (text: string) => danglingOpeners([{ path: "a/a.ts", text }]);

describe("the check of comments' openers", () => {
  it.each(["What", "Of", "Who", "Whose", "Whoever"])("refuses %s in every form of comment", (word) => {
    const text = `/** ${word} a. */\n/**\n * ${word} b.\n */\nconst a = 1;\n  // ${word} c.\n/* ${word} d. */\n`;
    const lines = [1, 3, 6, 7].map((line) => `a/a.ts:${line} opens with "${word}": name the thing`);
    expect(openersIn(text)).toEqual(lines);
  });

  it("allows these words inside a sentence, in longer words and in code", () => {
    const text = `/** The owner: who holds it, and what of it. */\n// Offsets count from 0.\nconst what = "What is it?";\n`;
    expect(openersIn(text)).toEqual([]);
  });
});
