import { expect, it } from "vitest";
import { drawableTerm } from "./terminal-type.ts";

const on =
  (...paths: string[]) =>
  (path: string) =>
    paths.some((one) => one === path || one.startsWith(`${path}/`));
const HOST = on("/usr/share/terminfo/x/xterm-256color", "/usr/share/terminfo/x/xterm", "/home/me/.terminfo/67/ghostty");
const env = { HOME: "/home/me" };

it.each([
  ["its own if the host knows it", { ...env, TERM: "xterm" }, "xterm"],
  ["its own if the person's home folder knows it", { ...env, TERM: "ghostty" }, "ghostty"],
  ["a common one if the host does not know it", { ...env, TERM: "xterm-ghostty" }, "xterm-256color"],
  ["a common one if TERM is not set", env, "xterm-256color"],
  ["a common one if TERM is a path", { ...env, TERM: "../x/xterm" }, "xterm-256color"],
])("the terminal type is %s", (_, given, term) => {
  expect(drawableTerm(given, HOST)).toBe(term);
});

it("searches the folders that the environment names", () => {
  const given = { TERM: "mine", TERMINFO: "/a", TERMINFO_DIRS: "/b::/c" };
  for (const path of ["/a/m/mine", "/b/6d/mine", "/c/m/mine"]) expect(drawableTerm(given, on(path))).toBe("mine");
});

it("is left to tmux if there is no terminfo folder", () => {
  expect(drawableTerm({ TERM: "xterm-ghostty" }, () => false)).toBe("xterm-ghostty");
});

it.each(["dumb", "xterm-ghostty"])("refuses %s if no common type is known either", (term) => {
  expect(() => drawableTerm({ TERM: term }, on("/usr/share/terminfo/o/other"))).toThrow(
    expect.objectContaining({ kind: "invalid", fields: { hint: expect.stringContaining("TERM=") } }),
  );
});
