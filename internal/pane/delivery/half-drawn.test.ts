import { describe, expect, it } from "vitest";
import { composerOf } from "../../../test/fakes/fake-pane.ts";
import { clock, DIALOG, delivered, pane, TEXT, useDeliveryBed } from "../../../test/support/pane/delivery-bed.ts";
import { screenOf } from "../../../test/support/screens/screens.ts";
import { Patience } from "./patience.ts";

useDeliveryBed();

describe("a partial drawing before the Enter", () => {
  it.each([
    ["without a composer", () => pane.show({})],
    ["with an empty composer", () => pane.compose("")],
    ["with part of the text", () => pane.compose(TEXT.slice(0, 8))],
    ["with the text and remains of what was there before", () => pane.compose(`${TEXT} rest`)],
  ])("%s is not final: the text is submitted once it is drawn again", async (_, draw) => {
    pane.onPaste = (text) => {
      pane.compose(text);
      pane.after(20, draw);
      pane.after(520, () => pane.compose(text));
    };
    expect(await delivered()).toMatchObject({ outcome: "submitted", error: "" });
    expect([pane.enters, pane.taken]).toEqual([1, [TEXT]]);
  });

  it("is final if it stays, and the text may still be in the prompt", async () => {
    pane.onPaste = (text) => {
      pane.compose(text);
      pane.after(20, () => pane.show({}));
    };
    const error = expect.stringContaining("no longer visible; it was not submitted");
    expect(await delivered()).toMatchObject({ outcome: "unknown", error, stands: true });
    expect(pane.enters).toBe(0);
  });

  it("does not use up the time for which the cursor must be still", async () => {
    pane.onPaste = (text) => {
      pane.compose(text);
      pane.after(20, () => pane.show({}));
      pane.after(520, () => {
        pane.compose(text);
        pane.cursorMoved = true;
      });
      pane.after(620, () => pane.show({ dialog: DIALOG }));
    };
    expect(await delivered()).toMatchObject({ outcome: "stranded" });
    expect(pane.enters).toBe(0);
  });
});

describe("a partial drawing after an Enter that the agent dropped", () => {
  /**
   * The first Enter does not submit: `draw` runs after `fromMs`, and `forMs` later the text is drawn again. The next
   * Enter submits.
   */
  function afterFirst(draw: () => void, fromMs = 0, forMs = 300): void {
    pane.onEnter = (nth) => {
      if (nth > 1) {
        pane.take();
        return;
      }
      pane.after(fromMs, draw);
      pane.after(fromMs + forMs, () => {
        pane.unreadBytes = 0;
        pane.compose(TEXT);
      });
    };
  }

  it("without a composer, at the end of the time for one Enter, is not final", async () => {
    afterFirst(() => pane.show({}), 950, 200);
    expect(await delivered()).toMatchObject({ outcome: "submitted", error: "" });
    expect([pane.enters, pane.taken]).toEqual([2, [TEXT]]);
  });

  it("with an empty composer proves nothing while the Enter is unread", async () => {
    afterFirst(() => {
      pane.unreadBytes = 1;
      pane.compose("");
    });
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
    expect([pane.enters, pane.taken]).toEqual([2, [TEXT]]);
  });

  it("without a composer's frame around the text is not taken for the message as the agent repeats it", async () => {
    afterFirst(() => pane.show({}, screenOf([`> ${TEXT}`])));
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
    expect([pane.enters, pane.taken]).toEqual([2, [TEXT]]);
  });
});

it("a partial drawing of the repeated text with remains of another after it is no sign of a person's keys", async () => {
  const repeats = (row: string) => pane.show({ composer: { ...composerOf(""), top: 1, bottom: 1 } }, screenOf([row]));
  pane.onEnter = () => {
    pane.take();
    repeats(`> ${TEXT}rest`);
    pane.after(300, () => repeats(`> ${TEXT}`));
  };
  expect(await delivered()).toMatchObject({ outcome: "submitted", error: "" });
});

describe("patience", () => {
  it("needs ten looks to end, however much time has passed", async () => {
    const patience = new Patience(clock, 1000);
    await clock.advance(5000);
    expect(Array.from({ length: 11 }, () => patience.isOver())).toEqual([...Array(9).fill(false), true, true]);
  });

  it("starts again when it is renewed", async () => {
    const patience = new Patience(clock, 1000);
    await clock.advance(990);
    for (let look = 0; look < 20; look++) expect(patience.isOver()).toBe(false);
    patience.renew();
    await clock.advance(990);
    for (let look = 0; look < 20; look++) expect(patience.isOver()).toBe(false);
    await clock.advance(10);
    expect(patience.isOver()).toBe(true);
  });
});
