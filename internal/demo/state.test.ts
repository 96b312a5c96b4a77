import { describe, expect, it } from "vitest";
import { type Key, KeyDecoder } from "./keys.ts";
import { type Effect, type Event, plainLine, type State, type TimerName } from "./model.ts";
import { type DemoOptions, type Faults, noFaults } from "./options.ts";
import { render } from "./render.ts";
import { initialState, reduce } from "./state.ts";

/** The agent without a process: a queue of timers, and what it did. */
class Rig {
  state: State;
  now = 1000;
  readonly effects: Effect[] = [];
  readonly #timers = new Map<TimerName, number>();
  readonly #decoder = new KeyDecoder({ bursts: false });

  constructor(faults: Partial<Faults> = {}, options: Partial<DemoOptions> = {}) {
    const defaults = { seed: 1, turnMs: 1000, steps: 2, alternateScreen: false, trustDialog: false };
    this.state = initialState({ ...defaults, ...options, faults: { ...noFaults, ...faults } }, 80, 24);
    this.send({ type: "start" });
  }

  send(event: Event): void {
    const { state, effects } = reduce(this.state, event, this.now);
    this.state = state;
    for (const effect of effects) {
      this.effects.push(effect);
      if (effect.type === "timer") this.#timers.set(effect.name, this.now + effect.ms);
      if (effect.type === "cancel") this.#timers.delete(effect.name);
    }
  }

  /** Bytes as a terminal sends them. */
  type(bytes: string): void {
    const keys: Key[] = [...this.#decoder.push(Buffer.from(bytes)), ...this.#decoder.flush()];
    for (const key of keys) this.send({ type: "key", key });
  }

  paste(text: string): void {
    this.type(`\x1b[200~${text}\x1b[201~`);
  }

  pass(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      const [due] = [...this.#timers].filter(([, at]) => at <= end).sort((a, b) => a[1] - b[1]);
      if (due === undefined) break;
      this.#timers.delete(due[0]);
      this.now = due[1];
      this.send({ type: "timer", name: due[0] });
    }
    this.now = end;
  }

  get timers(): TimerName[] {
    return [...this.#timers.keys()];
  }

  screen(): string[] {
    return render(this.state).lines.map(plainLine);
  }

  status(): string {
    return this.screen().at(-1) ?? "";
  }

  of<T extends Effect["type"]>(type: T): Extract<Effect, { type: T }>[] {
    return this.effects.filter((effect): effect is Extract<Effect, { type: T }> => effect.type === type);
  }

  taken(): string[] {
    return this.of("took").map((effect) => `${effect.via}: ${effect.text}`);
  }

  hooks(): string[] {
    return this.of("hook").map(({ line }) => (line.type === "waiting" ? `waiting ${line.reason}` : line.type));
  }

  printed(): string {
    return this.of("print")
      .flatMap((effect) => effect.lines.map(plainLine))
      .join("\n");
  }
}

describe("a turn", () => {
  it("takes the message, works through its steps, answers and is ready again", () => {
    const rig = new Rig();
    rig.type("hello world\r");
    expect(rig.taken()).toEqual(["direct: hello world"]);
    expect(rig.screen()).toEqual([
      "✳ Working… (0s · esc to interrupt)",
      "─".repeat(80),
      "> Type a message",
      "─".repeat(80),
      "esc to interrupt",
    ]);
    rig.pass(1100);
    expect(rig.status()).toBe("ready · demo model · ctx 13%");
    expect(rig.printed()).toContain("> hello world\n● ");
    expect(rig.printed()).toContain("Read your message (2 words).");
    expect(rig.hooks()).toEqual(["session-start", "prompt-submitted", "turn-ended"]);
  });

  it("leaves no timer behind when it has ended", () => {
    const rig = new Rig();
    expect(rig.timers).toEqual([]);
    rig.type("hi\r");
    rig.pass(1100);
    expect(rig.timers).toEqual([]);
  });

  it("is the same for the same seed and another for another", () => {
    const run = (seed: number) => {
      const rig = new Rig({}, { seed });
      rig.type("hi\r");
      rig.pass(1100);
      return rig.printed();
    };
    expect(run(3)).toBe(run(3));
    expect(run(3)).not.toBe(run(4));
  });

  it("ends on Escape", () => {
    const rig = new Rig();
    rig.type("hi\r");
    rig.pass(300);
    rig.type("\x1b");
    expect(rig.status()).toMatch(/^ready/);
    expect(rig.printed()).toContain("Interrupted");
    expect(rig.timers).toEqual([]);
  });

  it("keeps messages typed meanwhile and takes them in order afterwards", () => {
    const rig = new Rig();
    rig.type("first\r");
    rig.type("second\r");
    rig.paste("third\nwith two lines");
    rig.type("\r");
    expect(rig.taken()).toEqual(["direct: first"]);
    expect(rig.screen().slice(0, 2)).toEqual(["  ⏳ queued: second", "  ⏳ queued: third with two lines"]);
    rig.pass(4000);
    expect(rig.taken()).toEqual(["direct: first", "queue: second", "queue: third\nwith two lines"]);
    expect(rig.screen()).toHaveLength(4);
  });

  it("answers with as many lines as asked for", () => {
    const rig = new Rig();
    rig.type("lines: 500\r");
    rig.pass(1100);
    expect(rig.printed()).toContain("line 1 of 500\nline 2 of 500\n");
    expect(rig.printed().endsWith("line 500 of 500")).toBe(true);
  });
});

describe("the composer", () => {
  it("folds a long paste and sends its text", () => {
    const rig = new Rig();
    const text = Array.from({ length: 9 }, (_, row) => `row ${row}`).join("\n");
    rig.paste(text);
    expect(rig.screen()[1]).toBe("> [Pasted text #1 +8 lines]");
    rig.type("\r");
    expect(rig.taken()).toEqual([`direct: ${text}`]);
    expect(rig.printed()).toContain("> [Pasted text #1 +8 lines]");
  });

  it("shows further lines behind two blanks and the cursor behind the text", () => {
    const rig = new Rig();
    rig.type("one\x1b\rtwo 日");
    expect(rig.screen().slice(1, 3)).toEqual(["> one", "  two 日"]);
    expect(render(rig.state).cursor).toEqual({ row: 2, column: 8 });
  });

  it("goes on in a new line after a backslash", () => {
    const rig = new Rig();
    rig.type("one\\\r");
    expect(rig.taken()).toEqual([]);
    rig.type("two\r");
    expect(rig.taken()).toEqual(["direct: one\ntwo"]);
  });

  it("does not send blanks", () => {
    const rig = new Rig();
    rig.type("  \r");
    expect(rig.taken()).toEqual([]);
  });

  it("stays within a small window, the cursor in sight", () => {
    const rig = new Rig();
    rig.send({ type: "resize", cols: 20, rows: 8 });
    for (let row = 0; row < 4; row++) rig.type(`row ${row} is longer than the window\n`);
    const { lines, cursor } = render(rig.state);
    expect(lines.length).toBeLessThanOrEqual(8);
    expect(cursor?.row).toBeLessThan(lines.length);
  });
});

describe("commands of its own", () => {
  it("loses a message that begins like an unknown command", () => {
    const rig = new Rig();
    rig.type("/nonsense please\r");
    expect(rig.taken()).toEqual([]);
    expect(rig.printed()).toContain("Unknown command: /nonsense");
  });

  it("also takes a command behind blanks", () => {
    const rig = new Rig();
    rig.type("  /exit\r");
    expect(rig.of("exit")).toEqual([{ type: "exit", code: 0 }]);
  });

  it("writes shell mode down and runs nothing", () => {
    const rig = new Rig();
    rig.type("!rm -rf /\r");
    expect(rig.of("tool")).toEqual([{ type: "tool", text: "shell: rm -rf /" }]);
    expect(rig.taken()).toEqual([]);
  });

  it("chooses a model from a list", () => {
    const rig = new Rig();
    rig.type("/model\r");
    expect(rig.screen().slice(1, 6)).toEqual([
      "? Choose a model",
      "❯ 1. demo",
      "  2. demo-large",
      "  3. demo-small",
      "Enter to choose · Esc to cancel",
    ]);
    rig.type("\x1b[B\r");
    expect(rig.status()).toBe("ready · demo-large model · ctx 12%");
  });

  it("prints help and status and forgets on /clear", () => {
    const rig = new Rig();
    rig.type("/help\r/status\r/clear\r");
    expect(rig.printed()).toContain("run: CMD asks for permission");
    expect(rig.printed()).toContain("model demo · 0 turns · 0 queued · idle");
    expect(rig.of("clear")).toHaveLength(1);
  });
});

describe("the permission dialog", () => {
  function asked(faults: Partial<Faults> = {}): Rig {
    const rig = new Rig(faults);
    rig.type("please run: make test\r");
    rig.pass(600);
    return rig;
  }

  it("stands in the composer's place and stops the turn", () => {
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
  ])("on %j the tool log has %j", (keys, log) => {
    const rig = asked();
    rig.type(keys);
    expect(rig.of("tool").map((effect) => effect.text)).toEqual(log);
    rig.pass(2000);
    expect(rig.status()).toMatch(/^ready/);
  });

  it("loses text and pastes that come while it is open, but Enter after them approves", () => {
    const rig = asked();
    rig.paste("a nudge");
    rig.type("typed");
    expect(rig.of("tool")).toEqual([]);
    rig.type("\r");
    expect(rig.of("tool")).toHaveLength(1);
    rig.pass(2000);
    expect(rig.taken()).toEqual(["direct: please run: make test"]);
  });

  it("does not ask again when told so", () => {
    const rig = asked();
    rig.type("2");
    rig.pass(2000);
    rig.type("run: make deploy\r");
    rig.pass(2000);
    expect(rig.of("tool").map((effect) => effect.text)).toEqual(["make test", "make deploy"]);
  });
});

it("asks a question and goes on with the answer", () => {
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
  it("opens at the start and goes away on yes", () => {
    const rig = new Rig({}, { trustDialog: true });
    expect(rig.screen()[1]).toBe("? Do you trust the files in this folder?");
    rig.type("\r");
    expect(rig.status()).toMatch(/^ready/);
  });

  it.each(["2", "\x1b"])("quits with 1 on %j", (keys) => {
    const rig = new Rig({}, { trustDialog: true });
    rig.type(keys);
    expect(rig.of("exit")).toEqual([{ type: "exit", code: 1 }]);
  });
});

describe("quitting", () => {
  it("takes two Ctrl-C within two seconds", () => {
    const rig = new Rig();
    rig.type("draft\x03");
    expect(rig.screen()[1]).toBe("> Type a message");
    expect(rig.status()).toBe("press ctrl-c again to quit");
    rig.pass(2100);
    rig.type("\x03");
    expect(rig.of("exit")).toEqual([]);
    rig.type("\x03");
    expect(rig.of("exit")).toEqual([{ type: "exit", code: 0 }]);
  });

  it("takes Ctrl-D on an empty composer only", () => {
    const rig = new Rig();
    rig.type("x\x04");
    expect(rig.of("exit")).toEqual([]);
    rig.type("\x15\x04");
    expect(rig.of("exit")).toEqual([{ type: "exit", code: 0 }]);
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

  it("echo-delay: nothing is seen before its time, and the order stays", () => {
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

  it("flicker-idle: looks idle between tool steps while it works", () => {
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

  it("exit-on and hang-on: the message is taken, then it exits or hangs", () => {
    const rig = new Rig({ exitOn: "die", exitCode: 7, hangOn: "freeze" });
    rig.type("now die\r");
    expect(rig.taken()).toEqual(["direct: now die"]);
    expect(rig.of("exit")).toEqual([{ type: "exit", code: 7 }]);
    const other = new Rig({ hangOn: "freeze" });
    other.type("freeze now\r");
    expect(other.of("hang")).toHaveLength(1);
  });

  it("eat-enter-after-paste: an early Enter is a line break, a late one submits", () => {
    const rig = new Rig({ eatEnterAfterPasteMs: 120 });
    rig.paste("text");
    rig.pass(50);
    rig.type("\r");
    expect(rig.taken()).toEqual([]);
    rig.pass(100);
    rig.type("\r");
    expect(rig.taken()).toEqual(["direct: text\n"]);
  });

  it("open-dialog-on-paste: the echo is seen first, and the draft is back after the dialog", () => {
    const rig = new Rig({ openDialogOnPaste: true });
    rig.paste("nudge");
    expect(rig.screen()[1]).toBe("> nudge");
    rig.pass(20);
    expect(rig.screen()[1]).toBe("? Allow this command?");
    rig.type("3");
    expect(rig.screen()[1]).toBe("> nudge");
  });

  it("spinner-always: redraws while idle", () => {
    const rig = new Rig({ spinnerAlways: true });
    const before = rig.status();
    rig.pass(130);
    expect(rig.status()).not.toBe(before);
    expect(rig.status()).toMatch(/^ready/);
  });

  it("slow-start: shows no composer, keeps text and loses Enter", () => {
    const rig = new Rig({ slowStartMs: 300 });
    expect(rig.screen()).toEqual([]);
    rig.type("early\r");
    rig.pass(310);
    expect(rig.taken()).toEqual([]);
    expect(rig.screen()[1]).toBe("> early");
  });

  it("garbage: prints lines like control replies", () => {
    const rig = new Rig({ garbage: true });
    rig.type("hi\r");
    expect(rig.printed()).toContain("%begin 1700000000 1 1\n%output %0");
    expect(rig.of("raw").length).toBeGreaterThan(0);
  });
});
