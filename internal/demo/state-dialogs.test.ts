import { describe, expect, it } from "vitest";
import { Rig } from "../../test/support/screens/demo-rig.ts";
import type { Faults } from "./options.ts";
import { render } from "./render.ts";

describe("the permission dialog", () => {
  function asked(faults: Partial<Faults> = {}): Rig {
    const rig = new Rig(faults);
    rig.type("please run: make test\r");
    rig.pass(600);
    return rig;
  }

  it("replaces the composer and pauses the turn", () => {
    const rig = asked();
    expect(rig.screen()).toEqual([
      "─".repeat(80),
      "? Allow this command?",
      "  make test",
      "❯ 1. Yes",
      "  2. Yes, and do not ask again",
      "  3. No",
      "Enter to choose · Esc to cancel",
      "─".repeat(80),
      "waiting for you",
    ]);
    expect(rig.hooks().at(-1)).toBe("waiting permission");
    rig.pass(10_000);
    expect(rig.screen()[1]).toBe("? Allow this command?");
  });

  it.each([
    ["\r", ["make test"]],
    ["1", ["make test"]],
    ["2", ["make test"]],
    ["3", []],
    ["\x1b[B\x1b[B\r", []],
    ["\x1b[A\r", []],
    ["\x1b", []],
  ])("on %j leaves %j in the tool log", (keys, log) => {
    const rig = asked();
    rig.type(keys);
    expect(rig.of("tool").map((effect) => effect.text)).toEqual(log);
    rig.pass(2000);
    expect(rig.status()).toMatch(/^ready/);
  });

  it("drops text and pastes while it is open, but Enter after them approves", () => {
    const rig = asked();
    rig.paste("a nudge");
    rig.type("typed");
    expect(rig.of("tool")).toEqual([]);
    rig.type("\r");
    expect(rig.of("tool")).toHaveLength(1);
    rig.pass(2000);
    expect(rig.taken()).toEqual(["direct: please run: make test"]);
  });

  it("does not ask again after the choice not to ask", () => {
    const rig = asked();
    rig.type("2");
    rig.pass(2000);
    rig.type("run: make deploy\r");
    rig.pass(2000);
    expect(rig.of("tool").map((effect) => effect.text)).toEqual(["make test", "make deploy"]);
  });
});

it("asks a question and continues with the answer", () => {
  const rig = new Rig();
  rig.type("ask: Which colour?|red|green|blue\r");
  rig.pass(600);
  expect(rig.screen().slice(1, 5)).toEqual(["? Which colour?", "❯ 1. red", "  2. green", "  3. blue"]);
  rig.type("2");
  rig.pass(2000);
  expect(rig.printed()).toContain("● Which colour?\n  ⎿ green");
  expect(rig.status()).toMatch(/^ready/);
});

describe("the trust dialog", () => {
  it("opens at the start and closes on yes", () => {
    const rig = new Rig({}, { trustDialog: true });
    expect(rig.screen()[1]).toBe("? Do you trust the files in this folder?");
    rig.type("\r");
    expect(rig.status()).toMatch(/^ready/);
  });

  it.each(["2", "\x1b"])("exits with 1 on %j", (keys) => {
    const rig = new Rig({}, { trustDialog: true });
    rig.type(keys);
    expect(rig.of("exit")).toEqual([{ type: "exit", code: 1 }]);
  });
});

describe("faults", () => {
  it("drop-first-enter: the second Enter on each draft submits", () => {
    const rig = new Rig({ dropFirstEnter: true });
    rig.type("one\r");
    expect(rig.taken()).toEqual([]);
    rig.type("\r");
    rig.pass(2000);
    rig.type("two\r");
    expect(rig.taken()).toEqual(["direct: one"]);
    rig.type("\r");
    expect(rig.taken()).toEqual(["direct: one", "direct: two"]);
  });

  it("echo-delay: nothing is shown before its time, and the order is kept", () => {
    const rig = new Rig({ echoDelayMs: 200 });
    rig.type("abc");
    rig.pass(100);
    rig.type("def");
    expect(rig.screen()[1]).toBe("> Type a message");
    rig.pass(110);
    expect(rig.screen()[1]).toBe("> abc");
    rig.pass(100);
    expect(rig.screen()[1]).toBe("> abcdef");
    expect(rig.timers).toEqual([]);
  });

  it("flicker-idle: it looks idle between the steps of its work", () => {
    const rig = new Rig({ flickerIdleMs: 150 });
    rig.type("hi\r");
    const stepMs = rig.state.turn?.pauseMs ?? 0;
    rig.pass(stepMs + 10);
    expect(rig.status()).toMatch(/^ready/);
    expect(render(rig.state).title).toBe("✳ demo");
    rig.pass(150);
    expect(rig.status()).toBe("esc to interrupt");
    rig.pass(5000);
    expect(rig.hooks().at(-1)).toBe("turn-ended");
  });

  it("exit-on and hang-on: it takes the message, then exits or hangs", () => {
    const rig = new Rig({ exitOn: "die", exitCode: 7, hangOn: "freeze" });
    rig.type("now die\r");
    expect(rig.taken()).toEqual(["direct: now die"]);
    expect(rig.of("exit")).toEqual([{ type: "exit", code: 7 }]);
    const other = new Rig({ hangOn: "freeze" });
    other.type("freeze now\r");
    expect(other.of("hang")).toHaveLength(1);
  });

  it("eat-enter-after-paste: an early Enter is a line break, and a late one submits", () => {
    const rig = new Rig({ eatEnterAfterPasteMs: 120 });
    rig.paste("text");
    rig.pass(50);
    rig.type("\r");
    expect(rig.taken()).toEqual([]);
    rig.pass(100);
    rig.type("\r");
    expect(rig.taken()).toEqual(["direct: text\n"]);
  });

  it("open-dialog-on-paste: the echo is shown first, and the draft returns after the dialog", () => {
    const rig = new Rig({ openDialogOnPaste: true });
    rig.paste("nudge");
    expect(rig.screen()[1]).toBe("> nudge");
    rig.pass(20);
    expect(rig.screen()[1]).toBe("? Allow this command?");
    rig.type("3");
    expect(rig.screen()[1]).toBe("> nudge");
  });

  it("spinner-always: it redraws while idle", () => {
    const rig = new Rig({ spinnerAlways: true });
    const before = rig.status();
    rig.pass(130);
    expect(rig.status()).not.toBe(before);
    expect(rig.status()).toMatch(/^ready/);
  });

  it("slow-start: it shows no composer, keeps text and loses Enter", () => {
    const rig = new Rig({ slowStartMs: 300 });
    expect(rig.screen()).toEqual([]);
    rig.type("early\r");
    rig.pass(310);
    expect(rig.taken()).toEqual([]);
    expect(rig.screen()[1]).toBe("> early");
  });

  it("garbage: it prints lines like control replies", () => {
    const rig = new Rig({ garbage: true });
    rig.type("hi\r");
    expect(rig.printed()).toContain("%begin 1700000000 1 1\n%output %0");
    expect(rig.of("raw").length).toBeGreaterThan(0);
  });
});
