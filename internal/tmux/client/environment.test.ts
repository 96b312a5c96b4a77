import { expect, it } from "vitest";
import { withoutTmux } from "./environment.ts";

it("removes tmux's variables, and those that are undefined", () => {
  const env = { PATH: "/bin", TMUX: "x", TMUX_PANE: "%0", TMUX_TMPDIR: "/t", ATMUX: "1", EMPTY: "", GONE: undefined };
  expect(withoutTmux(env)).toEqual({ PATH: "/bin", ATMUX: "1", EMPTY: "" });
});
