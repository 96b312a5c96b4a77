import { expect, it } from "vitest";
import { drawableTerm } from "./terminal-type.ts";

const on =
  (...paths: string[]) =>
  (path: string) =>
    paths.some((one) => one === path || one.startsWith(`${path}/`));
const HOST = on("/usr/share/terminfo/x/xterm-256color", "/usr/share/terminfo/x/xterm", "/home/me/.terminfo/67/ghostty");
const env = { HOME: "/home/me" };

it.each([
  ["its own where the host knows it", { ...env, TERM: "xterm" }, "xterm"],
  ["its own where the person's home knows it", { ...env, TERM: "ghostty" }, "ghostty"],
  ["a common one where the host does not know it", { ...env, TERM: "xterm-ghostty" }, "xterm-256color"],
  ["a common one without any", env, "xterm-256color"],
  ["a common one for a path", { ...env, TERM: "../x/xterm" }, "xterm-256color"],
])("a terminal is %s", (_, given, term) => {
  expect(drawableTerm(given, HOST)).toBe(term);
});

it("looks where the environment says", () => {
  const given = { TERM: "mine", TERMINFO: "/a", TERMINFO_DIRS: "/b::/c" };
  for (const path of ["/a/m/mine", "/b/6d/mine", "/c/m/mine"]) expect(drawableTerm(given, on(path))).toBe("mine");
});

it("is left to tmux where there is no terminfo to look into", () => {
  expect(drawableTerm({ TERM: "xterm-ghostty" }, () => false)).toBe("xterm-ghostty");
});

it.each(["dumb", "xterm-ghostty"])("refuses %s where nothing can be drawn with", (term) => {
  expect(() => drawableTerm({ TERM: term }, on("/usr/share/terminfo/o/other"))).toThrow(
    expect.objectContaining({ kind: "invalid", fields: { hint: expect.stringContaining("TERM=") } }),
  );
});
