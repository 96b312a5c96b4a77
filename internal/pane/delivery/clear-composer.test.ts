import { beforeEach, describe, expect, it } from "vitest";
import { composerOf, FakePane, fakeProfile } from "../../../test/fakes/fake-pane.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { screenOf } from "../../../test/support/screens/screens.ts";
import { clearOwnText } from "./clear-composer.ts";
import { UnsubmittedTexts } from "./unsubmitted-texts.ts";

const ERASE = "\x15";
const { signal } = new AbortController();

let clock: FakeClock;
let pane: FakePane;
let standing: UnsubmittedTexts;
beforeEach(() => {
  clock = new FakeClock();
  pane = new FakePane(clock);
  standing = new UnsubmittedTexts();
});

const cleared = () =>
  clock.until(
    clearOwnText({ clock, writer: pane, source: pane, profile: fakeProfile(pane), standing }, signal),
    60_000,
  );

describe("the removal of our text from the composer", () => {
  it("goes row by row, and looks at the screen after each key", async () => {
    standing.left("one\ntwo\nthree");
    pane.compose("one\ntwo\nthree");
    pane.onErase = () => {
      const rest = (pane.view.composer?.text ?? "").split("\n").slice(0, -1).join("\n");
      pane.after(30, () => pane.compose(rest));
    };
    expect(await cleared()).toEqual({ type: "cleared" });
    expect(pane.typed).toEqual([ERASE, ERASE, ERASE]);
  });

  it("includes two texts in a row", async () => {
    standing.left("one");
    standing.left("two");
    pane.compose("onetwo");
    expect(await cleared()).toEqual({ type: "cleared" });
  });

  it("includes a text that the agent has only begun to draw", async () => {
    standing.left("one மனார் 쳱퓠귗");
    pane.compose("one மனார் 퓠귗");
    let keys = 0;
    pane.onErase = () => pane.compose(keys++ === 0 ? "one மனார் 쳱퓠귗" : "");
    expect(await cleared()).toEqual({ type: "cleared" });
  });

  it.each([
    ["contains a person's text", () => pane.compose("by hand")],
    ["is covered by a dialog", () => pane.show({})],
  ])("presses no key if the composer %s", async (_, show) => {
    standing.left("one\ntwo");
    show();
    expect(await cleared()).toEqual({ type: "stands" });
    expect(pane.typed).toEqual([]);
  });

  it("stops as soon as a person types", async () => {
    standing.left("one\ntwo\nthree");
    pane.compose("one\ntwo\nthree");
    pane.onErase = () => pane.compose("one\ntwo by hand");
    expect(await cleared()).toEqual({ type: "stands" });
    expect(pane.typed).toEqual([ERASE]);
  });

  it("presses a key that has no effect only twice", async () => {
    standing.left("one");
    pane.compose("one");
    pane.onErase = () => {};
    expect(await cleared()).toEqual({ type: "stands" });
    expect(pane.typed).toEqual([ERASE, ERASE]);
  });

  it("presses no second key if the agent has not read the first, because it hangs", async () => {
    standing.left("one");
    pane.compose("one");
    const since = clock.monotonicMs();
    pane.onErase = () => {
      pane.unreadBytes = 1;
    };
    expect(await cleared()).toEqual({ type: "hangs", since });
    expect(pane.typed).toEqual([ERASE]);
  });

  it.each([
    ["blanks", "            ᜎ"],
    ["its placeholder", "› Do anything ᜎ"],
  ])("ignores remains that the program leaves on the screen of an empty composer, after %s", async (_, row) => {
    standing.left("ᎢᏎᏚ ждъцбр ᜐᜎ");
    pane.compose("ᎢᏎᏚ ждъцбр ᜐᜎ");
    pane.onErase = () => pane.show({ composer: composerOf("          ᜎ") }, screenOf([row], { cursor: [2, 0] }));
    expect(await cleared()).toEqual({ type: "cleared" });
    expect(standing.isEmpty(composerOf("          ᜎ"))).toBe(true);
  });

  it("ignores the vowel sign of a first letter that the program covered with a blank", async () => {
    standing.left("ணை 𒄁𒃾");
    pane.compose("ணை 𒄁𒃾");
    pane.onErase = () => pane.show({ composer: composerOf(" ை") }, screenOf(["❯  ை"], { cursor: [2, 0] }));
    expect(await cleared()).toEqual({ type: "cleared" });
    expect(standing.isEmpty(composerOf(" ை"))).toBe(true);
  });

  it("keeps a letter with its sign, which a person may have typed", async () => {
    standing.left(" ணை");
    pane.compose(" ணை");
    pane.onErase = () => pane.show({ composer: composerOf(" ணை") }, screenOf(["❯  ணை"], { cursor: [2, 0] }));
    expect(await cleared()).toEqual({ type: "stands" });
  });
});
