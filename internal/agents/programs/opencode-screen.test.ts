import { expect, it } from "vitest";
import { loadScreenCases } from "../../../test/support/screens/screen-corpus.ts";
import { screenFromRecording } from "../../../test/support/screens/screen-from-ansi.ts";
import { opencodeView } from "./opencode-screen.ts";

it("ignores letters of the placeholder that stay visible in a draft", async () => {
  const draft = (await loadScreenCases()).find(({ name }) => name === "opencode/1.18.33/draft");
  if (draft === undefined) throw new Error("no recorded draft");
  const { recording } = draft;
  const screen = await screenFromRecording(recording);
  const { composer } = opencodeView(screen);
  const muted = screen.lines.flatMap(({ runs }) => runs).find(({ text }) => text.trim() === "·")?.fg ?? "";
  const place = `\x1b[${recording.cursorY + 1};${recording.cursorX + 3}H`;
  const withLetters = (colour: string) =>
    screenFromRecording({ ...recording, ansi: `${recording.ansi}${place}\x1b[${colour}mstack\x1b[0m` });
  expect(muted).toMatch(/^\d+$/);
  expect(opencodeView(await withLetters(`38;5;${muted}`)).composer).toEqual(composer);
  expect(opencodeView(await withLetters("0")).composer?.text).toContain("stack");
});
