import { describe, expect, it } from "vitest";
import { Rig } from "../../test/support/screens/demo-rig.ts";
import { render } from "./render.ts";

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

  it("is the same for the same seed and different for another", () => {
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

  it("answers with the requested number of lines", () => {
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

  it("shows further lines after two blanks and the cursor after the text", () => {
    const rig = new Rig();
    rig.type("one\x1b\rtwo 日");
    expect(rig.screen().slice(1, 3)).toEqual(["> one", "  two 日"]);
    expect(render(rig.state).cursor).toEqual({ row: 2, column: 8 });
  });

  it("continues in a new line after a backslash", () => {
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

  it("stays within a small window with the cursor visible", () => {
    const rig = new Rig();
    rig.send({ type: "resize", cols: 20, rows: 8 });
    for (let row = 0; row < 4; row++) rig.type(`row ${row} is longer than the window\n`);
    const { lines, cursor } = render(rig.state);
    expect(lines.length).toBeLessThanOrEqual(8);
    expect(cursor?.row).toBeLessThan(lines.length);
  });
});

describe("the demo agent, given a command,", () => {
  it("loses a message that begins like an unknown command", () => {
    const rig = new Rig();
    rig.type("/nonsense please\r");
    expect(rig.taken()).toEqual([]);
    expect(rig.printed()).toContain("Unknown command: /nonsense");
  });

  it("also accepts a command after blanks", () => {
    const rig = new Rig();
    rig.type("  /exit\r");
    expect(rig.of("exit")).toEqual([{ type: "exit", code: 0 }]);
  });

  it("notes shell mode and runs nothing", () => {
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

  it("accepts Ctrl-D on an empty composer only", () => {
    const rig = new Rig();
    rig.type("x\x04");
    expect(rig.of("exit")).toEqual([]);
    rig.type("\x15\x04");
    expect(rig.of("exit")).toEqual([{ type: "exit", code: 0 }]);
  });
});
