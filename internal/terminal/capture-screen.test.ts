import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import type { PaneFacts } from "../tmux/pane/pane.ts";
import { CaptureScreen } from "./capture-screen.ts";

it("shows a complete picture to a caller while the next one is being drawn", async () => {
  const clock = new FakeClock();
  const facts = { cols: 40, rows: 5, cursorX: 0, cursorY: 0, alternate: false } as PaneFacts;
  let text = "first picture\n";
  const pane = { capture: async () => text, facts: async () => facts };
  const screen = new CaptureScreen({ clock, pane, onFacts: () => {} }, 0);
  const { signal } = new AbortController();
  const line = async () => (await screen.current(signal)).lines[0]?.text;
  expect(await line()).toBe("first picture");
  await clock.advance(20);
  text = "second picture\n";
  const looks = [line()];
  // At each of these moments the second picture is fetched, drawn or there.
  for (let n = 0; n < 20; n++) {
    await Promise.resolve();
    looks.push(line());
  }
  const seen = await Promise.all(looks);
  expect(new Set(seen)).toEqual(new Set(["second picture"]));
});
