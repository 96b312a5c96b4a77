import { describe, expect, it } from "vitest";
import { composerOf } from "../../../test/fakes/fake-pane.ts";
import {
  clock,
  DIALOG,
  delivered,
  deps,
  expectUntouched,
  intents,
  job,
  pane,
  signal,
  TEXT,
  useDeliveryBed,
} from "../../../test/support/pane/delivery-bed.ts";
import { screenOf } from "../../../test/support/screens/screens.ts";
import { deliver } from "./delivery.ts";

useDeliveryBed();

describe("a delivery", () => {
  it("types nothing if its intent cannot be recorded", async () => {
    const onIntent = () => {
      throw new Error("no space left");
    };
    const result = await clock.until(deliver(deps(), { ...job(), onIntent }, signal), 60_000);
    expect(result).toEqual({ type: "retry", reason: "the intent could not be recorded" });
    expectUntouched();
  });

  it("pastes, sees the text, presses Enter once, and sees the text leave", async () => {
    const result = await delivered();
    expect(result).toMatchObject({ type: "done", outcome: "submitted", error: "" });
    expect(pane.typed).toEqual([TEXT, "\r"]);
    expect([pane.taken, intents]).toEqual([[TEXT], 1]);
    expect(result.type === "done" && result.evidence.map((item) => `${item.source}: ${item.value}`)).toEqual([
      "screen: it left the composer",
      "screen: the agent is working",
    ]);
  });

  it("reports the time of each step", async () => {
    pane.onPaste = (text) => pane.after(100, () => pane.compose(text));
    pane.onEnter = () => pane.after(50, () => pane.take());
    expect(await delivered()).toMatchObject({ pastedMs: 0, typedMs: 100, submittedMs: 150, confirmedMs: 200 });
  });

  it("waits for a text that is drawn slowly in parts, and presses Enter once it is complete and quiet for a matching time", async () => {
    pane.onPaste = (text) => {
      pane.after(500, () => pane.compose(text.slice(0, 6)));
      pane.after(1500, () => pane.compose(text));
    };
    const result = await delivered();
    expect(result).toMatchObject({ outcome: "submitted", submittedMs: 1900 });
    expect(pane.enters).toBe(1);
  });

  it("presses Enter 400 ms after the echo at the latest if the screen never calms down", async () => {
    pane.onPaste = (text) => {
      pane.compose(text);
      for (let ms = 10; ms < 1000; ms += 10) pane.after(ms, () => pane.enters === 0 && pane.compose(text));
    };
    expect(await delivered()).toMatchObject({ outcome: "submitted", submittedMs: 400 });
  });

  it.each([
    ["nothing is drawn", () => {}],
    ["only a part is drawn", () => pane.compose(TEXT.slice(0, 8))],
    ["something else is drawn", () => pane.compose("other words")],
  ])("never presses Enter if %s", async (_, onPaste) => {
    pane.onPaste = onPaste;
    expect(await delivered()).toMatchObject({ outcome: "unknown", error: expect.stringContaining("not submitted") });
    expect(pane.typed).toEqual([TEXT]);
    expect(clock.monotonicMs()).toBe(4000);
  });

  it("presses Enter once more if the first was dropped, and not again", async () => {
    pane.onEnter = (nth) => {
      if (nth === 2) pane.take();
    };
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
    expect(pane.typed).toEqual([TEXT, "\r", "\r"]);
    expect(clock.monotonicMs()).toBe(25 + 1000);
  });

  it("is stranded if three Enters do not submit it", async () => {
    pane.onEnter = () => {};
    expect(await delivered()).toMatchObject({ outcome: "stranded" });
    expect(pane.enters).toBe(3);
  });

  it("is unknown, after one Enter instead of three, if the agent does not read it", async () => {
    pane.onEnter = () => {
      pane.unreadBytes = 1;
    };
    const result = await delivered();
    expect(result).toMatchObject({ outcome: "unknown", error: expect.stringContaining("neither read it nor drawn") });
    expect(result).toMatchObject({ undrawnSince: 25, drawn: TEXT });
    expect(pane.enters).toBe(1);
  });

  it.each([
    ["reads the Enter late", false, 3500],
    ["reads the first Enter of its life even later", true, 11_500],
  ])("waits for an agent that %s", async (_, fresh, ms) => {
    pane.fresh = fresh;
    pane.onEnter = () => {
      pane.unreadBytes = 1;
      pane.after(ms, () => {
        pane.unreadBytes = 0;
        pane.after(20, () => pane.take());
      });
    };
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
    expect(pane.enters).toBe(1);
  });

  it("submits a text of which the terminal dropped letters, once output has stopped", async () => {
    pane.onPaste = () => pane.compose("மனார் 𝐙𝐍𝐚𝐅  퓠귗");
    expect(await delivered("known", "மனார் 𝐙𝐍𝐚𝐅 쳱퓠귗")).toMatchObject({ outcome: "submitted", submittedMs: 150 });
  });

  it("is submitted even if its last letters stay on the screen of the empty composer", async () => {
    pane.onEnter = () => pane.show({ composer: composerOf("      ᜎ") }, screenOf(["        ᜎ"], { cursor: [2, 0] }));
    expect(await delivered("known", "ждъ ᜐᜎ")).toMatchObject({ outcome: "submitted", residue: "      ᜎ" });
  });

  it("is unknown if the composer is no longer visible after Enter", async () => {
    pane.onEnter = () => pane.show({});
    expect(await delivered()).toMatchObject({ outcome: "unknown" });
    expect(pane.enters).toBe(1);
  });
});

describe("a delivery is postponed without typing", () => {
  it.each([
    ["a dialog is open", () => pane.show({ dialog: DIALOG })],
    ["a draft is in the composer", () => pane.compose("a draft")],
    ["a folded paste is in the composer", () => pane.compose("", 1)],
    ["the screen shows no composer", () => pane.show({})],
    ["the agent reports that it waits for a person", () => Object.assign(pane, { waiting: true })],
    ["tmux is away", () => pane.fail("stage")],
  ])("if %s", async (_, prepare) => {
    prepare();
    expect(await delivered()).toMatchObject({ type: "retry" });
    expect(intents).toBe(0);
    expectUntouched();
  });
});

describe("a dead agent", () => {
  it("gets nothing", async () => {
    pane.dead = true;
    expect(await delivered()).toMatchObject({ outcome: "agent-dead" });
    expectUntouched();
  });

  it("gets nothing, even if tmux goes away before the buffer is dropped", async () => {
    pane.dead = true;
    pane.fail("dropBuffer");
    expect(await delivered()).toMatchObject({ outcome: "agent-dead" });
    expect(pane.typed).toEqual([]);
  });
});

describe("no Enter is pressed", () => {
  it("if a dialog opens between the paste and its echo", async () => {
    pane.onPaste = () => pane.after(50, () => pane.show({ dialog: DIALOG }));
    expect(await delivered()).toMatchObject({ outcome: "unknown", error: expect.stringContaining("dialog") });
    expect(pane.enters).toBe(0);
  });

  it("if a dialog opens between the echo and the Enter", async () => {
    pane.onPaste = (text) => {
      pane.compose(text);
      pane.after(20, () => pane.show({ composer: composerOf(text), dialog: DIALOG }));
    };
    expect(await delivered()).toMatchObject({ outcome: "stranded", error: expect.stringContaining("dialog") });
    expect(pane.enters).toBe(0);
  });

  it("if the agent reports before the Enter that it waits for a person", async () => {
    pane.onPaste = (text) => {
      pane.compose(text);
      pane.after(10, () => {
        pane.waiting = true;
      });
    };
    expect(await delivered()).toMatchObject({ outcome: "stranded" });
    expect(pane.enters).toBe(0);
  });

  it.each([
    ["after the text", `${TEXT} and`],
    ["before the text", `so ${TEXT}`],
    ["into the text", TEXT.replace("look", "loxok")],
  ])("if a person types %s before the echo is seen", async (_, text) => {
    pane.onPaste = () => pane.compose(text);
    expect(await delivered()).toMatchObject({ outcome: "stranded", error: expect.stringContaining("person") });
    expect(pane.enters).toBe(0);
  });

  it("if a person types into the text between the echo and the Enter", async () => {
    pane.onPaste = (text) => {
      pane.compose(text);
      pane.after(10, () => pane.compose(`${text}!x`));
    };
    expect(await delivered()).toMatchObject({ outcome: "stranded" });
    expect(pane.enters).toBe(0);
  });

  it("if a person has submitted the text before", async () => {
    pane.onPaste = (text) => {
      pane.compose(text);
      pane.after(10, () => pane.take());
    };
    expect(await delivered()).toMatchObject({ outcome: "unknown" });
    expect(pane.enters).toBe(0);
  });

  it("while the terminal accepts no input, and the receipt names no time of a submit", async () => {
    pane.inputOff = true;
    const result = await delivered();
    const error = expect.stringContaining("accepted no Enter");
    expect(result).toMatchObject({ outcome: "stranded", error, submittedMs: undefined });
  });

  it("while the terminal accepts no input, and a submit by the person does not count as ours", async () => {
    pane.inputOff = true;
    pane.onPaste = (text) => {
      pane.compose(text);
      pane.after(500, () => pane.take());
    };
    expect(await delivered()).toMatchObject({ outcome: "unknown" });
  });

  it("while the terminal has output that has not arrived here yet, such as a dialog", async () => {
    pane.onPaste = (text) => {
      pane.compose(text);
      pane.cursorMoved = true;
      pane.after(120, () => pane.show({ dialog: DIALOG }));
    };
    expect(await delivered()).toMatchObject({ outcome: "stranded", error: expect.stringContaining("a dialog opened") });
    expect(pane.enters).toBe(0);
  });

  it("until a moving cursor was waited for", async () => {
    pane.cursorMoved = true;
    const result = await delivered();
    expect(result).toMatchObject({ outcome: "submitted" });
    expect(result.type === "done" && result.submittedMs).toBeGreaterThanOrEqual(300);
    expect(pane.enters).toBe(1);
  });

  it("until the terminal accepts input again", async () => {
    pane.inputOff = true;
    pane.after(500, () => Object.assign(pane, { inputOff: false }));
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
    expect(pane.enters).toBe(1);
  });

  it("again after a person changed the text that the first Enter left standing", async () => {
    pane.onEnter = () => pane.after(500, () => pane.compose(TEXT.replace("tests", "texts")));
    const result = await delivered();
    expect(result).toMatchObject({ type: "done" });
    expect(result.type === "done" && result.outcome).not.toBe("submitted");
    expect(pane.enters).toBe(1);
  });
});

describe("if tmux goes away", () => {
  it("before the paste, the buffer proves that nothing was typed", async () => {
    pane.fail("paste", "before");
    expect(await delivered()).toMatchObject({ type: "retry" });
    expect(intents).toBe(1);
    expectUntouched();
  });

  it("after the paste, the missing buffer proves that the text was typed", async () => {
    pane.fail("paste", "after");
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
    expect(pane.typed).toEqual([TEXT, "\r"]);
  });

  it("and is still away when the buffer is looked up, the look-up is repeated", async () => {
    pane.fail("paste", "before");
    pane.fail("bufferExists");
    pane.fail("bufferExists");
    expect(await delivered()).toMatchObject({ type: "retry" });
    expect(clock.monotonicMs()).toBe(100);
    expectUntouched();
  });

  it("and the buffer cannot be dropped, the delivery is only repeated", async () => {
    pane.fail("paste", "before");
    pane.fail("dropBuffer");
    expect(await delivered()).toMatchObject({ type: "retry" });
    expect(pane.typed).toEqual([]);
  });

  it("with the pane, the delivery is repeated in the next pane", async () => {
    pane.fail("paste", "before", "precondition");
    expect(await delivered()).toMatchObject({ type: "retry" });
    expectUntouched();
  });

  it("after the Enter, the screen shows that it was pressed", async () => {
    pane.fail("enter", "after");
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
    expect(pane.enters).toBe(1);
  });

  it("before the Enter, the screen shows that it was not pressed, and it is pressed again", async () => {
    pane.fail("enter", "before");
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
    expect(pane.enters).toBe(1);
  });

  it("a bug is not mistaken for it", async () => {
    pane.onPaste = () => {
      throw new TypeError("broken");
    };
    await expect(delivered()).rejects.toThrow("broken");
  });
});
it("stops at once when its signal is aborted, and leaves no timer", async () => {
  const stop = new AbortController();
  pane.onPaste = () => {};
  const running = deliver(deps(), job(), stop.signal);
  running.catch(() => {});
  await clock.advance(100);
  stop.abort(new Error("stopping"));
  await expect(running).rejects.toThrow("stopping");
  expect(clock.sleeping).toBe(0);
});
