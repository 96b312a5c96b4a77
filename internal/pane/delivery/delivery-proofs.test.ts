import { describe, expect, it } from "vitest";
import { composerOf } from "../../../test/fakes/fake-pane.ts";
import {
  clock,
  DIALOG,
  delivered,
  deps,
  expectUntouched,
  job,
  pane,
  recovered,
  signal,
  TEXT,
  useDeliveryBed,
} from "../../../test/support/pane/delivery-bed.ts";
import { screenOf } from "../../../test/support/screens/screens.ts";
import { deliver } from "./delivery.ts";

useDeliveryBed();

describe("the agent's own report", () => {
  it("is the first evidence, and is awaited briefly if the agent is known to report", async () => {
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

  it("is not awaited if the agent has never reported", async () => {
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

  it("about another text, or from an earlier time, proves nothing", async () => {
    pane.hook(TEXT);
    await clock.advance(10);
    pane.onEnter = () => pane.hook("another text");
    expect(await delivered()).toMatchObject({ outcome: "stranded" });
  });

  it("disproves the submit if it contains the text and a person's keys after it", async () => {
    pane.onEnter = () => {
      pane.hook(`${TEXT}by hand`);
      pane.take();
    };
    expect(await delivered()).toMatchObject({ outcome: "unknown", error: expect.stringContaining("something else") });
  });

  it("is not needed to disprove the submit if the screen repeats the text and a person's keys after it", async () => {
    pane.onEnter = () =>
      pane.show({ composer: { ...composerOf(""), top: 1, bottom: 1 } }, screenOf([`> ${TEXT}b`, "> "]));
    expect(await delivered()).toMatchObject({ outcome: "unknown", error: expect.stringContaining("something else") });
  });

  it("is waited for longer if the screen does not repeat the text", async () => {
    pane.hooks = true;
    pane.onEnter = () => {
      pane.take();
      pane.after(200, () => pane.hook(`${TEXT}b`));
    };
    expect(await delivered()).toMatchObject({ outcome: "unknown" });
    expect(clock.monotonicMs()).toBe(225);
  });

  it("is required from an agent that has just started and may have dropped the content of its composer", async () => {
    pane.hooks = true;
    pane.fresh = true;
    expect(await delivered()).toMatchObject({ outcome: "unknown", error: expect.stringContaining("just started") });
  });

  it("may take seconds if the agent has just started", async () => {
    pane.hooks = true;
    pane.fresh = true;
    pane.onEnter = () => {
      pane.take();
      pane.after(2500, () => pane.hook(TEXT));
    };
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
  });

  it("is not required from a new agent that repeats the text above its composer", async () => {
    pane.hooks = true;
    pane.fresh = true;
    pane.onEnter = () => {
      pane.take();
      pane.show({ composer: { ...composerOf(""), top: 1, bottom: 1 } }, screenOf([`> ${TEXT}`, "> "]));
    };
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
  });

  it("about a text from its own queue disproves nothing", async () => {
    pane.onEnter = () => {
      pane.hook("what it had kept");
      pane.take();
    };
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
  });

  it("about a similar text from its own queue disproves nothing if that text was ours", async () => {
    pane.onEnter = () => {
      pane.hook(`${TEXT} 1`);
      pane.take();
    };
    const text = `${TEXT} 2`;
    const result = deliver(deps(), { ...job(text), typedBefore: [`${TEXT} 1`] }, signal);
    expect(await clock.until(result, 60_000)).toMatchObject({ outcome: "submitted" });
  });

  it("about a text that is nearly ours disproves that it took ours alone", async () => {
    pane.onEnter = () => {
      pane.hook(`${TEXT} 1`);
      pane.take();
    };
    expect(await delivered("known", `${TEXT} 2`)).toMatchObject({ outcome: "unknown" });
  });

  it("proves a submit that the screen does not show, once the agent has had time to draw", async () => {
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

  it("is not needed if a dialog opens at once and the screen shows the text above it", async () => {
    pane.onEnter = () => pane.show({ dialog: DIALOG }, screenOf([`❯ ${TEXT}`, "Run it?"]));
    const result = await delivered();
    expect(result).toMatchObject({ outcome: "submitted" });
    expect(result.type === "done" && result.evidence.map((item) => item.value)).toEqual(["the agent repeats it"]);
  });

  it("is required if the screen above a dialog shows more than the text", async () => {
    pane.onEnter = () => pane.show({ dialog: DIALOG }, screenOf([`❯ ${TEXT}b`, "Run it?"]));
    expect(await delivered()).toMatchObject({ outcome: "unknown" });
  });

  it("is awaited for three seconds per Enter while the agent starts, and its absence leaves the outcome unknown", async () => {
    pane.fresh = true;
    pane.onEnter = () => {};
    expect(await delivered()).toMatchObject({ outcome: "unknown", stands: true });
    expect([pane.enters, clock.monotonicMs()]).toEqual([3, 25 + 3 * 3000]);
  });

  it.each([
    ["decides the outcome", true, "submitted"],
    ["is missing and leaves the outcome unknown", false, "unknown"],
  ])("%s when a slow agent opens a dialog more than a second after Enter", async (_, tells, outcome) => {
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

describe("an unknown program", () => {
  it("gets one Enter after its echo, whatever it answers", async () => {
    pane.onPaste = (text) => pane.show({}, screenOf([`> ${text}`]));
    pane.onEnter = () => pane.show({}, screenOf([`> ${TEXT}`], { cursor: [0, 1] }));
    expect(await delivered("generic")).toMatchObject({ outcome: "submitted" });
    expect(pane.typed).toEqual([TEXT, "\r"]);
  });

  it("counts as having taken several lines as one text only if it reports that itself", async () => {
    const lines = "one two three four\nfive six seven eight";
    pane.onPaste = () => pane.show({}, screenOf(["> one two three four", "five six seven eight"]));
    pane.onEnter = () => pane.show({}, screenOf(["five six seven eight", "> "]));
    expect(await delivered("generic", lines)).toMatchObject({
      outcome: "unknown",
      error: expect.stringContaining("each line of the text separately"),
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
  ])(
    "takes a line of %i bytes with the outcome %s, because a terminal may cut lines of more than 4095 bytes",
    async (bytes, outcome) => {
      const line = `${"x".repeat(bytes - 20)} and this is its end`;
      pane.onPaste = () => pane.show({}, screenOf(["xxxxxxxxxx and this is its end"]));
      pane.onEnter = () => pane.show({}, screenOf(["> "]));
      expect(await delivered("generic", line)).toMatchObject({ outcome });
    },
  );

  it("gets no Enter without an echo", async () => {
    pane.onPaste = () => {};
    expect(await delivered("generic")).toMatchObject({ outcome: "unknown" });
    expect(pane.enters).toBe(0);
  });
});

describe("an attempt whose end was not observed", () => {
  it("is repeated if its buffer still exists", async () => {
    pane.buffers.set("gt-1", TEXT);
    expect(await recovered()).toMatchObject({ type: "retry" });
    expectUntouched();
  });

  it("is repeated if its buffer still exists, even if tmux goes away once more", async () => {
    pane.buffers.set("gt-1", TEXT);
    pane.fail("bufferExists");
    pane.fail("dropBuffer");
    expect(await recovered()).toMatchObject({ type: "retry" });
    expect(pane.typed).toEqual([]);
  });

  it("is submitted if the composer contains only its text", async () => {
    pane.compose(TEXT);
    expect(await recovered()).toMatchObject({ outcome: "submitted" });
    expect(pane.typed).toEqual(["\r"]);
  });

  it("is submitted if its text is still being drawn", async () => {
    pane.after(300, () => pane.compose(TEXT));
    expect(await recovered()).toMatchObject({ outcome: "submitted" });
    expect(pane.typed).toEqual(["\r"]);
  });

  it.each([
    ["the composer is empty", () => {}],
    ["the composer also contains a person's words", () => pane.compose(`${TEXT} and`)],
    ["the composer is covered", () => pane.show({ dialog: DIALOG })],
  ])("is unknown and left alone if %s", async (_, prepare) => {
    prepare();
    expect(await recovered()).toMatchObject({ outcome: "unknown" });
    expect(pane.typed).toEqual([]);
  });

  it("is not submitted while a dialog is open", async () => {
    pane.show({ composer: composerOf(TEXT), dialog: DIALOG });
    expect(await recovered()).toMatchObject({ outcome: "stranded" });
    expect(pane.enters).toBe(0);
  });

  it("is submitted if the agent has reported it meanwhile, with the report as evidence", async () => {
    pane.hook(TEXT);
    await clock.advance(5);
    const result = await recovered();
    expect(result).toMatchObject({ outcome: "submitted" });
    expect(result.type === "done" && result.evidence).toEqual([
      { source: "hook", value: "the agent accepted this text", ageMs: 5, confidence: "proof" },
    ]);
    expect(pane.enters).toBe(0);
  });

  it("is unknown for an unknown program", async () => {
    expect(await recovered("generic")).toMatchObject({ outcome: "unknown" });
    expect(pane.typed).toEqual([]);
  });
});

describe("an agent that draws no composer after Enter", () => {
  it("has taken the text if it reports it eight seconds later", async () => {
    pane.hooks = true;
    pane.onEnter = () => {
      pane.show({});
      pane.after(8000, () => pane.hook(TEXT));
    };
    expect(await delivered()).toMatchObject({ outcome: "submitted" });
    expect(pane.enters).toBe(1);
  });

  it.each([
    ["ten seconds if the agent reports nothing", 0, {}, 10_000],
    ["a second if the agent has ended", undefined, {}, 1000],
    ["a second if a dialog covers it", 0, { dialog: DIALOG }, 1000],
  ])("is waited for at most %s", async (_, unread, view, ms) => {
    pane.hooks = true;
    pane.onEnter = () => {
      pane.unreadBytes = unread;
      pane.show(view);
    };
    expect(await delivered()).toMatchObject({
      outcome: "unknown",
      error: expect.stringContaining("no longer visible"),
    });
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(ms);
    expect(clock.monotonicMs()).toBeLessThan(ms + 200);
  });
});
