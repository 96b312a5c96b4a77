import { describe, expect, it } from "vitest";
import { compareVersions, parseVersion } from "./version.ts";

describe("parseVersion", () => {
  it.each([
    ["tmux 3.3a\n", { major: 3, minor: 3, suffix: "a", text: "3.3a" }],
    ["tmux 3.2", { major: 3, minor: 2, suffix: "", text: "3.2" }],
    ["tmux next-3.8\n", { major: 3, minor: 8, suffix: "", text: "next-3.8" }],
    ["tmux 3.5-rc2\n", { major: 3, minor: 5, suffix: "", text: "3.5-rc2" }],
    ["tmux openbsd-7.4\n", { major: 7, minor: 4, suffix: "", text: "openbsd-7.4" }],
  ])("reads %j", (printed, version) => {
    expect(parseVersion(printed)).toEqual(version);
  });

  it.each(["", "tmux", "tmux master", "screen 4.9", "3.3a"])("refuses %j", (printed) => {
    expect(() => parseVersion(printed)).toThrow(expect.objectContaining({ kind: "precondition" }));
  });
});

describe("compareVersions", () => {
  it("orders by numbers, then by letter", () => {
    const sorted = ["3.1c", "3.2", "3.2a", "3.3a", "3.10", "4.0"].map((text) => parseVersion(`tmux ${text}`));
    for (const [i, a] of sorted.entries()) {
      for (const [j, b] of sorted.entries()) expect(Math.sign(compareVersions(a, b))).toBe(Math.sign(i - j));
    }
  });
});
