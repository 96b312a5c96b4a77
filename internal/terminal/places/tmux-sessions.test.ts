import { expect, it } from "vitest";
import { sessionsIn } from "./tmux-sessions.ts";

it("reads the sessions of a server, and the pane of those that have only one", () => {
  const { names, version, onlyPanes } = sessionsIn("3.3a 1 1 %4 hq-mayor\n3.3a 1 2 %2 b c\n3.3a 2 1 %3 a\n");
  expect(names).toEqual(["hq-mayor", "b c", "a"]);
  expect(version).toBe("3.3a");
  expect([...onlyPanes]).toEqual([["hq-mayor", "%4"]]);
});

it("finds nothing in the output of a server without sessions", () => {
  expect(sessionsIn("\n")).toMatchObject({ names: [] });
  expect(sessionsIn("").version).toBeUndefined();
});
