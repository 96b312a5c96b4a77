import { beforeEach, describe, expect, it } from "vitest";
import { composerOf, FakePane, fakeProfile } from "../../../test/fakes/fake-pane.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { screenOf } from "../../../test/support/screens/screens.ts";
import type { DialogView } from "../../agents/profile.ts";
import { deliver, recoverDelivery } from "./delivery.ts";
import type { DeliveryDeps } from "./delivery-attempt.ts";

const TEXT = "please look at the tests";
const DIALOG: DialogView = { kind: "permission", title: "Run it?", text: "", choices: [] };
const { signal } = new AbortController();

let clock: FakeClock;
let pane: FakePane;
let intents: number;
beforeEach(() => {
  clock = new FakeClock();
  pane = new FakePane(clock);
  intents = 0;
});

function deps(kind: "known" | "generic" = "known"): DeliveryDeps {
  const sameText = (a: string, b: string) => a === b;
  return { clock, sameText, writer: pane, source: pane, signs: pane, profile: fakeProfile(pane, kind) };
}

function job(text = TEXT) {
  return {
    buffer: "gt-1",
    text,
    onIntent: () => {
      expect(pane.typed).toEqual([]);
      expect(pane.buffers.get("gt-1")).toBe(text);
      intents++;
    },
  };
}

const delivered = (kind: "known" | "generic" = "known", text = TEXT) =>
  clock.until(deliver(deps(kind), job(text), signal), 60_000);
const recovered = (kind: "known" | "generic" = "known") =>
  clock.until(recoverDelivery(deps(kind), job(), signal), 60_000);

/** Nothing was typed and nothing is left behind. */
function expectUntouched(): void {
  expect(pane.typed).toEqual([]);
  expect([...pane.buffers.keys()]).toEqual([]);
}

describe("a delivery", () => {
  it("types nothing when its intent cannot be kept", async () => {
    const onIntent = () => {
      throw new Error("no space left");
    };
    const result = await clock.until(deliver(deps(), { ...job(), onIntent }, signal), 60_000);
    expect(result).toEqual({ type: "retry", reason: "the intent could not be kept" });
    expectUntouched();
  });

  it("pastes, sees the text, presses Enter once, sees it leave", async () => {
    const result = await delivered();
    expect(result).toMatchObject({ type: "done", outcome: "submitted", error: "" });
    expect(pane.typed).toEqual([TEXT, "\r"]);
    expect([pane.taken, intents]).toEqual([[TEXT], 1]);
    expect(result.type === "done" && result.evidence.map((item) => `${item.source}: ${item.value}`)).toEqual([
      "screen: it left the composer",
      "screen: the agent works",
    ]);
  });

  it("tells the time of each step", async () => {
    pane.onPaste = (text) => pane.after(100, () => pane.compose(text));
    pane.onEnter = () => pane.after(50, () => pane.take());
    expect(await delivered()).toMatchObject({ pastedMs: 0, typedMs: 100, submittedMs: 150, confirmedMs: 200 });
  });

  it("waits for a text that is drawn late and in parts, and presses no Enter before it is whole and quiet for as long as that slowness asks", async () => {
    pane.onPaste = (text) => {
      pane.after(500, () => pane.compose(text.slice(0, 6)));
      pane.after(1500, () => pane.compose(text));
    };
    const result = await delivered();
    expect(result).toMatchObject({ outcome: "submitted", submittedMs: 1900 });
    expect(pane.enters).toBe(1);
  });

  it("presses Enter at the latest 400 ms after the echo when the screen never calms down", async () => {
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
  ])("never presses Enter when %s", async (_, onPaste) => {
    pane.onPaste = onPaste;
    expect(await delivered()).toMatchObject({ outcome: "unknown", error: expect.stringContaining("not submitted") });
    expect(pane.typed).toEqual([TEXT]);
    expect(clock.monotonicMs()).toBe(4000);
  });

  it("presses Enter once more when the first was dropped, and not again", async () => {
    pane.onEnter = (nth) => {
      if (nth === 2) pane.take();
    };
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
    expect(pane.typed).toEqual([TEXT, "\r", "\r"]);
    expect(clock.monotonicMs()).toBe(25 + 1000);
  });

  it("is stranded when three Enters do not submit it", async () => {
    pane.onEnter = () => {};
    expect(await delivered()).toMatchObject({ outcome: "stranded" });
    expect(pane.enters).toBe(3);
  });

  it("is unknown, with one Enter and not three, when the agent does not read it", async () => {
    pane.onEnter = () => {
      pane.unreadBytes = 1;
    };
    const result = await delivered();
    expect(result).toMatchObject({ outcome: "unknown", error: expect.stringContaining("neither read it nor drawn") });
    expect(result).toMatchObject({ undrawnSince: 25, drawn: TEXT });
    expect(pane.enters).toBe(1);
  });

  it("waits for an agent that reads the Enter late", async () => {
    pane.onEnter = () => {
      pane.unreadBytes = 1;
      pane.after(3500, () => {
        pane.unreadBytes = 0;
        pane.after(20, () => pane.take());
      });
    };
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
    expect(pane.enters).toBe(1);
  });

  it("submits a text of which the terminal lost letters, once nothing more comes", async () => {
    pane.onPaste = () => pane.compose("மனார் 𝐙𝐍𝐚𝐅  퓠귗");
    expect(await delivered("known", "மனார் 𝐙𝐍𝐚𝐅 쳱퓠귗")).toMatchObject({ outcome: "submitted", submittedMs: 150 });
  });

  it("is submitted although its last letters stay on the screen of the empty composer", async () => {
    pane.onEnter = () => pane.show({ composer: composerOf("      ᜎ") }, screenOf(["        ᜎ"], { cursor: [2, 0] }));
    expect(await delivered("known", "ждъ ᜐᜎ")).toMatchObject({ outcome: "submitted", residue: "      ᜎ" });
  });

  it("is unknown when the composer is not seen any more after Enter", async () => {
    pane.onEnter = () => pane.show({});
    expect(await delivered()).toMatchObject({ outcome: "unknown" });
    expect(pane.enters).toBe(1);
  });
});

describe("a delivery is put off, and nothing is typed", () => {
  it.each([
    ["a dialog is open", () => pane.show({ dialog: DIALOG })],
    ["a draft stands in the composer", () => pane.compose("a draft")],
    ["a folded paste stands in it", () => pane.compose("", 1)],
    ["no composer is on the screen", () => pane.show({})],
    ["the agent says that it waits for a person", () => Object.assign(pane, { waiting: true })],
    ["tmux is away", () => pane.fail("stage")],
  ])("when %s", async (_, prepare) => {
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

  it("gets nothing, also when tmux goes away before the buffer is dropped", async () => {
    pane.dead = true;
    pane.fail("dropBuffer");
    expect(await delivered()).toMatchObject({ outcome: "agent-dead" });
    expect(pane.typed).toEqual([]);
  });
});

describe("no Enter is pressed", () => {
  it("when a dialog opens between the paste and its echo", async () => {
    pane.onPaste = () => pane.after(50, () => pane.show({ dialog: DIALOG }));
    expect(await delivered()).toMatchObject({ outcome: "unknown", error: expect.stringContaining("dialog") });
    expect(pane.enters).toBe(0);
  });

  it("when a dialog opens between the echo and the Enter", async () => {
    pane.onPaste = (text) => {
      pane.compose(text);
      pane.after(20, () => pane.show({ composer: composerOf(text), dialog: DIALOG }));
    };
    expect(await delivered()).toMatchObject({ outcome: "stranded", error: expect.stringContaining("dialog") });
    expect(pane.enters).toBe(0);
  });

  it("when the agent says before the Enter that it waits for a person", async () => {
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
    ["behind it", `${TEXT} and`],
    ["before it", `so ${TEXT}`],
    ["into it", TEXT.replace("look", "loxok")],
  ])("when a person types %s before the echo is seen", async (_, text) => {
    pane.onPaste = () => pane.compose(text);
    expect(await delivered()).toMatchObject({ outcome: "stranded", error: expect.stringContaining("person") });
    expect(pane.enters).toBe(0);
  });

  it("when a person types into it between the echo and the Enter", async () => {
    pane.onPaste = (text) => {
      pane.compose(text);
      pane.after(10, () => pane.compose(`${text}!x`));
    };
    expect(await delivered()).toMatchObject({ outcome: "stranded" });
    expect(pane.enters).toBe(0);
  });

  it("when a person sent it off before", async () => {
    pane.onPaste = (text) => {
      pane.compose(text);
      pane.after(10, () => pane.take());
    };
    expect(await delivered()).toMatchObject({ outcome: "unknown" });
    expect(pane.enters).toBe(0);
  });

  it("while its terminal takes no input, and it is not said that one was", async () => {
    pane.inputOff = true;
    const result = await delivered();
    expect(result).toMatchObject({ outcome: "stranded", error: expect.stringContaining("took no Enter") });
    expect(result).not.toHaveProperty("submittedMs");
  });

  it("while its terminal takes no input, and a text that they send off themselves is not called submitted by us", async () => {
    pane.inputOff = true;
    pane.onPaste = (text) => {
      pane.compose(text);
      pane.after(500, () => pane.take());
    };
    expect(await delivered()).toMatchObject({ outcome: "unknown" });
  });

  it("while the terminal knows of output that has not come here yet: a dialog", async () => {
    pane.onPaste = (text) => {
      pane.compose(text);
      pane.cursorMoved = true;
      pane.after(120, () => pane.show({ dialog: DIALOG }));
    };
    expect(await delivered()).toMatchObject({ outcome: "stranded", error: expect.stringContaining("a dialog opened") });
    expect(pane.enters).toBe(0);
  });

  it("before a cursor that does not stand still was waited for, and then it is", async () => {
    pane.cursorMoved = true;
    const result = await delivered();
    expect(result).toMatchObject({ outcome: "submitted" });
    expect(result.type === "done" && result.submittedMs).toBeGreaterThanOrEqual(300);
    expect(pane.enters).toBe(1);
  });

  it("before its terminal takes input again, and then it is", async () => {
    pane.inputOff = true;
    pane.after(500, () => Object.assign(pane, { inputOff: false }));
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
    expect(pane.enters).toBe(1);
  });

  it("a second time, when a person types into the text that the first left standing", async () => {
    pane.onEnter = () => pane.after(500, () => pane.compose(TEXT.replace("tests", "texts")));
    const result = await delivered();
    expect(result).toMatchObject({ type: "done" });
    expect(result.type === "done" && result.outcome).not.toBe("submitted");
    expect(pane.enters).toBe(1);
  });
});

describe("when tmux goes away", () => {
  it("at the paste, before it: the buffer says that nothing was typed", async () => {
    pane.fail("paste", "before");
    expect(await delivered()).toMatchObject({ type: "retry" });
    expect(intents).toBe(1);
    expectUntouched();
  });

  it("at the paste, after it: the buffer says that it was typed", async () => {
    pane.fail("paste", "after");
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
    expect(pane.typed).toEqual([TEXT, "\r"]);
  });

  it("and is still away when the buffer is asked for, it is asked again", async () => {
    pane.fail("paste", "before");
    pane.fail("bufferExists");
    pane.fail("bufferExists");
    expect(await delivered()).toMatchObject({ type: "retry" });
    expect(clock.monotonicMs()).toBe(100);
    expectUntouched();
  });

  it("and a buffer that cannot be dropped is only tried again", async () => {
    pane.fail("paste", "before");
    pane.fail("dropBuffer");
    expect(await delivered()).toMatchObject({ type: "retry" });
    expect(pane.typed).toEqual([]);
  });

  it("with the pane: it is tried again in the next one", async () => {
    pane.fail("paste", "before", "precondition");
    expect(await delivered()).toMatchObject({ type: "retry" });
    expectUntouched();
  });

  it("at the Enter, after it: the screen shows that it was pressed", async () => {
    pane.fail("enter", "after");
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
    expect(pane.enters).toBe(1);
  });

  it("at the Enter, before it: the screen shows that it was not, and it is pressed then", async () => {
    pane.fail("enter", "before");
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
    expect(pane.enters).toBe(1);
  });

  it("a bug is not taken for it", async () => {
    pane.onPaste = () => {
      throw new TypeError("broken");
    };
    await expect(delivered()).rejects.toThrow("broken");
  });
});

describe("the agent's own word", () => {
  it("is the first evidence, and waited for a moment when it is known to come", async () => {
    pane.hooks = true;
    pane.onEnter = () => {
      pane.take();
      pane.show({ composer: { ...composerOf(""), top: 1, bottom: 1 } }, screenOf([`> ${TEXT}`, "> "]));
      pane.after(30, () => pane.hook(TEXT));
    };
    const result = await delivered();
    expect(result).toMatchObject({ outcome: "submitted", confirmedMs: 25 });
    expect(result.type === "done" && result.evidence[0]).toMatchObject({ source: "hook", confidence: "proof" });
    expect(clock.monotonicMs()).toBe(55);
  });

  it("is not waited for when it never came before", async () => {
    await delivered();
    expect(clock.monotonicMs()).toBe(25);
  });

  it("without the text is strong, not proof", async () => {
    pane.onEnter = () => {
      pane.hook();
      pane.take();
    };
    const result = await delivered();
    expect(result.type === "done" && result.evidence[0]).toMatchObject({ source: "hook", confidence: "strong" });
  });

  it("about another text, or from before, proves nothing", async () => {
    pane.hook(TEXT);
    await clock.advance(10);
    pane.onEnter = () => pane.hook("another text");
    expect(await delivered()).toMatchObject({ outcome: "stranded" });
  });

  it("denies a submit when it took the text with a person's keys in it", async () => {
    pane.onEnter = () => {
      pane.hook(`${TEXT}by hand`);
      pane.take();
    };
    expect(await delivered()).toMatchObject({ outcome: "unknown", error: expect.stringContaining("something else") });
  });

  it("is not needed when the screen repeats the text with a person's keys behind it", async () => {
    pane.onEnter = () =>
      pane.show({ composer: { ...composerOf(""), top: 1, bottom: 1 } }, screenOf([`> ${TEXT}b`, "> "]));
    expect(await delivered()).toMatchObject({ outcome: "unknown", error: expect.stringContaining("something else") });
  });

  it("is waited for longer while the screen does not repeat the text, and not when it does", async () => {
    pane.hooks = true;
    pane.onEnter = () => {
      pane.take();
      pane.after(200, () => pane.hook(`${TEXT}b`));
    };
    expect(await delivered()).toMatchObject({ outcome: "unknown" });
    expect(clock.monotonicMs()).toBe(225);
  });

  it("is needed of an agent that has just started and may have dropped what stood in its composer", async () => {
    pane.hooks = true;
    pane.fresh = true;
    expect(await delivered()).toMatchObject({ outcome: "unknown", error: expect.stringContaining("just started") });
  });

  it("may take seconds when the agent has just started", async () => {
    pane.hooks = true;
    pane.fresh = true;
    pane.onEnter = () => {
      pane.take();
      pane.after(2500, () => pane.hook(TEXT));
    };
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
  });

  it("is not needed of a young agent that repeats the text above its composer", async () => {
    pane.hooks = true;
    pane.fresh = true;
    pane.onEnter = () => {
      pane.take();
      pane.show({ composer: { ...composerOf(""), top: 1, bottom: 1 } }, screenOf([`> ${TEXT}`, "> "]));
    };
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
  });

  it("about a text of its own queue denies nothing", async () => {
    pane.onEnter = () => {
      pane.hook("what it had kept");
      pane.take();
    };
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
  });

  it("about a text of its own queue that is nearly the same denies nothing, when that text was ours", async () => {
    pane.onEnter = () => {
      pane.hook(`${TEXT} 1`);
      pane.take();
    };
    const text = `${TEXT} 2`;
    const result = deliver(deps(), { ...job(text), typedBefore: [`${TEXT} 1`] }, signal);
    expect(await clock.until(result, 60_000)).toMatchObject({ outcome: "submitted" });
  });

  it("about a text that is nearly ours denies that it took ours alone", async () => {
    pane.onEnter = () => {
      pane.hook(`${TEXT} 1`);
      pane.take();
    };
    expect(await delivered("known", `${TEXT} 2`)).toMatchObject({ outcome: "unknown" });
  });

  it("proves a submit that the screen does not show, once the drawing had its time", async () => {
    pane.onEnter = () => pane.hook(TEXT);
    const result = await delivered();
    expect(result).toMatchObject({ outcome: "submitted" });
    expect([pane.enters, clock.monotonicMs()]).toEqual([1, 1025]);
    expect(result.type === "done" && result.evidence.map((item) => item.source)).toEqual(["hook"]);
  });

  it("proves a submit after which a dialog covers the composer", async () => {
    pane.onEnter = () => {
      pane.hook(TEXT);
      pane.show({ dialog: DIALOG });
    };
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
  });

  it("proves a submit after which a dialog opens at once by the text above the dialog", async () => {
    pane.onEnter = () => pane.show({ dialog: DIALOG }, screenOf([`❯ ${TEXT}`, "Run it?"]));
    const result = await delivered();
    expect(result).toMatchObject({ outcome: "submitted" });
    expect(result.type === "done" && result.evidence.map((item) => item.value)).toEqual(["the agent repeats it"]);
  });

  it("does not take more than the text above a dialog for its submit", async () => {
    pane.onEnter = () => pane.show({ dialog: DIALOG }, screenOf([`❯ ${TEXT}b`, "Run it?"]));
    expect(await delivered()).toMatchObject({ outcome: "unknown" });
  });

  it("leaves an agent that is still starting three seconds for each Enter, and calls nothing stranded that it may yet take", async () => {
    pane.fresh = true;
    pane.onEnter = () => {};
    expect(await delivered()).toMatchObject({ outcome: "unknown", stands: true });
    expect([pane.enters, clock.monotonicMs()]).toEqual([3, 25 + 3 * 3000]);
  });

  it.each([
    ["its own word tells what came of it", true, "submitted"],
    ["nothing tells what came of it", false, "unknown"],
  ])("when a slow agent opens a dialog more than a second after the Enter, and %s", async (_, tells, outcome) => {
    pane.onEnter = () => {
      pane.cursorMoved = true;
      pane.after(1100, () => {
        if (tells) pane.hook(TEXT);
        pane.show({ dialog: DIALOG });
      });
    };
    expect(await delivered()).toMatchObject({ outcome });
    expect(pane.enters).toBe(1);
  });
});

describe("a program of which nothing is known", () => {
  it("gets one Enter after its echo, whatever it answers", async () => {
    pane.onPaste = (text) => pane.show({}, screenOf([`> ${text}`]));
    pane.onEnter = () => pane.show({}, screenOf([`> ${TEXT}`], { cursor: [0, 1] }));
    expect(await delivered("generic")).toMatchObject({ outcome: "submitted" });
    expect(pane.typed).toEqual([TEXT, "\r"]);
  });

  it("is not said to have taken several lines as one text, unless it says so itself", async () => {
    const lines = "one two three four\nfive six seven eight";
    pane.onPaste = () => pane.show({}, screenOf(["> one two three four", "five six seven eight"]));
    pane.onEnter = () => pane.show({}, screenOf(["five six seven eight", "> "]));
    expect(await delivered("generic", lines)).toMatchObject({
      outcome: "unknown",
      error: expect.stringContaining("lines"),
    });
    pane.show({}, screenOf(["> "]));
    pane.typed.length = 0;
    pane.onEnter = () => {
      pane.hook(lines);
      pane.show({}, screenOf(["five six seven eight", "> "]));
    };
    expect(await delivered("generic", lines)).toMatchObject({ outcome: "submitted" });
  });

  it.each([
    [4095, "submitted"],
    [4096, "unknown"],
  ])("is said to have taken a line of %i bytes: %s, because a terminal may cut longer ones", async (bytes, outcome) => {
    const line = `${"x".repeat(bytes - 20)} and this is its end`;
    pane.onPaste = () => pane.show({}, screenOf(["xxxxxxxxxx and this is its end"]));
    pane.onEnter = () => pane.show({}, screenOf(["> "]));
    expect(await delivered("generic", line)).toMatchObject({ outcome });
  });

  it("gets no Enter without an echo", async () => {
    pane.onPaste = () => {};
    expect(await delivered("generic")).toMatchObject({ outcome: "unknown" });
    expect(pane.enters).toBe(0);
  });
});

describe("an attempt whose end nobody saw", () => {
  it("is tried again when its buffer is still there", async () => {
    pane.buffers.set("gt-1", TEXT);
    expect(await recovered()).toMatchObject({ type: "retry" });
    expectUntouched();
  });

  it("is tried again when its buffer is still there, although tmux goes away once more", async () => {
    pane.buffers.set("gt-1", TEXT);
    pane.fail("bufferExists");
    pane.fail("dropBuffer");
    expect(await recovered()).toMatchObject({ type: "retry" });
    expect(pane.typed).toEqual([]);
  });

  it("is submitted when its text stands in the composer alone", async () => {
    pane.compose(TEXT);
    expect(await recovered()).toMatchObject({ outcome: "submitted" });
    expect(pane.typed).toEqual(["\r"]);
  });

  it("is submitted when its text is still being drawn", async () => {
    pane.after(300, () => pane.compose(TEXT));
    expect(await recovered()).toMatchObject({ outcome: "submitted" });
    expect(pane.typed).toEqual(["\r"]);
  });

  it.each([
    ["the composer is empty", () => {}],
    ["a person's words stand there too", () => pane.compose(`${TEXT} and`)],
    ["the composer is covered", () => pane.show({ dialog: DIALOG })],
  ])("is unknown and left alone when %s", async (_, prepare) => {
    prepare();
    expect(await recovered()).toMatchObject({ outcome: "unknown" });
    expect(pane.typed).toEqual([]);
  });

  it("is not submitted while a dialog is open", async () => {
    pane.show({ composer: composerOf(TEXT), dialog: DIALOG });
    expect(await recovered()).toMatchObject({ outcome: "stranded" });
    expect(pane.enters).toBe(0);
  });

  it("is submitted when the agent said so meanwhile, and that is the evidence", async () => {
    pane.hook(TEXT);
    await clock.advance(5);
    const result = await recovered();
    expect(result).toMatchObject({ outcome: "submitted" });
    expect(result.type === "done" && result.evidence).toEqual([
      { source: "hook", value: "the agent took this text", ageMs: 5, confidence: "proof" },
    ]);
    expect(pane.enters).toBe(0);
  });

  it("is unknown for a program of which nothing is known", async () => {
    expect(await recovered("generic")).toMatchObject({ outcome: "unknown" });
    expect(pane.typed).toEqual([]);
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
