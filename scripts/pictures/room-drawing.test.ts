import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { rooms } from "../rooms.mjs";
import { root } from "../step.ts";
import { cycles, drawing, replaceBetween } from "./room-drawing.ts";

describe("drawing", () => {
  const drawn = (...lines: string[]) => ["```mermaid", "graph TD", ...lines, "```"].join("\n");

  it("has one arrow per pair of floors, however many files import each other", () => {
    const text = drawing([
      { from: "internal/pane/a.ts", to: "internal/tmux/x.ts" },
      { from: "internal/pane/b.ts", to: "internal/tmux/y.ts" },
      { from: "cmd/gt/main.ts", to: "internal/pane/a.ts" },
    ]);
    const nodes = ['  cmd_gt[["cmd/gt"]]', '  pane["pane"]', '  tmux["tmux"]'];
    expect(text).toBe(drawn(...nodes, "  cmd_gt --> pane", "  pane --> tmux"));
  });

  it("names the rooms of a floor, and draws no arrows between them", () => {
    const text = drawing([
      { from: "internal/terminal/a.ts", to: "internal/terminal/trust/c.ts" },
      { from: "internal/terminal/a.ts", to: "internal/terminal/finding/b.ts" },
      { from: "internal/terminal/finding/b.ts", to: "internal/gen/gastown/v1/c.ts" },
    ]);
    expect(text).toBe(drawn('  gen["gen"]', '  terminal["terminal: finding, trust"]', "  terminal --> gen"));
  });

  it("leaves out an arrow that a path of others implies", () => {
    const text = drawing([
      { from: "internal/a/x.ts", to: "internal/b/x.ts" },
      { from: "internal/b/x.ts", to: "internal/c/x.ts" },
      { from: "internal/c/x.ts", to: "internal/d/x.ts" },
      { from: "internal/a/x.ts", to: "internal/d/x.ts" },
    ]);
    expect(text.split("\n").filter((line) => line.includes("-->"))).toEqual(["  a --> b", "  b --> c", "  c --> d"]);
  });

  it("leaves out base, tests, packages and a room's own files", () => {
    const text = drawing([
      { from: "internal/pane/a.ts", to: "internal/base/clock.ts" },
      { from: "internal/pane/a.ts", to: "internal/pane/b.ts" },
      { from: "internal/pane/a.ts", to: "node_modules/pino/pino.js" },
      { from: "internal/pane/a.test.ts", to: "internal/tmux/x.ts" },
    ]);
    expect(text).toBe(drawn('  pane["pane"]'));
  });
});

describe("cycles", () => {
  const pair = (from: string, to: string) => ({ from: `${from}.ts`, to: `${to}.ts` });

  it("are found between folders, though no two files import each other", () => {
    const arrows = ["cmd/gt/a --> cmd/gt/b", "cmd/gt/b --> cmd/gt/a"];
    const above = pair("cmd/gt/main", "cmd/gt/a/run");
    const below = pair("cmd/gt/b/word", "internal/base/clock");
    const both = [pair("cmd/gt/a/run", "cmd/gt/b/word"), pair("cmd/gt/b/text", "cmd/gt/a/name")];
    expect(cycles([above, ...both, below])).toEqual(arrows);
    expect(cycles([above, ...both.slice(1), below])).toEqual([]);
  });

  it("are found between floors, though no two rooms import each other", () => {
    const both = [
      pair("internal/pane/watch/a", "internal/tmux/pane/b"),
      pair("internal/tmux/client/c", "internal/pane/d/e"),
    ];
    expect(cycles(both)).toEqual(["internal/pane --> internal/tmux", "internal/tmux --> internal/pane"]);
  });

  it("do not include the imports of tests", () => {
    const test = { from: "internal/a/x.test.ts", to: "internal/b/y.ts" };
    expect(cycles([test, pair("internal/b/y", "internal/a/z")])).toEqual([]);
  });
});

describe("replaceBetween", () => {
  it("keeps the text around the markers", () => {
    expect(replaceBetween("a [ old ] z", "[", "]", "new")).toBe("a [\n\nnew\n\n] z");
  });

  it("refuses a document without the markers", () => {
    expect(() => replaceBetween("a", "[", "]", "new")).toThrow(/missing/);
  });
});

describe("the table of rooms", () => {
  it("names every folder with code under internal/", () => {
    const inside = readdirSync(join(root, "internal"), { recursive: true, encoding: "utf8" });
    const folders = new Set(inside.filter((path) => path.endsWith(".ts") && !path.startsWith("gen/")).map(dirname));
    expect(Object.keys(rooms)).toEqual(expect.arrayContaining([...folders]));
  });

  it("has no cycle", () => {
    const visit = (room: string, path: readonly string[]): void => {
      expect(path).not.toContain(room);
      for (const next of rooms[room] ?? []) visit(next, [...path, room]);
    };
    for (const room of Object.keys(rooms)) visit(room, []);
  });
});
