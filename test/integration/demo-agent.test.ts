import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../internal/base/clock.ts";
import { DemoPane } from "../support/agents/demo-pane.ts";

const FAST = ["--turn-ms", "150"];
const SLOW = ["--turn-ms", "60000"];

describe.concurrent("the demo agent in a real tmux", () => {
  it("shows its composer, its title, and the cursor in the composer", async () => {
    await using pane = await DemoPane.ready();
    const rows = await pane.screen();
    expect(rows.slice(-4)).toEqual([
      "─".repeat(80),
      "> Type a message",
      "─".repeat(80),
      "ready · demo model · ctx 12%",
    ]);
    expect(await pane.display("#{pane_title}|#{cursor_x}|#{alternate_on}")).toBe("✳ demo|2|0");
    await pane.type("日本 ok");
    await pane.sees("> 日本 ok");
    expect(await pane.display("#{cursor_x}")).toBe("9");
  });

  it("works on a message and is ready again", async () => {
    await using pane = await DemoPane.ready({ args: ["--turn-ms", "4000"] });
    await pane.type("hello there");
    await pane.keys("Enter");
    await pane.sees("· esc to interrupt)");
    expect(await pane.display("#{pane_title}")).toBe("⠂ demo");
    await pane.sees("ctx 13%");
    expect(await pane.taken()).toEqual([{ text: "hello there", at: expect.any(String), via: "direct" }]);
    expect(await pane.screen()).toContain("● Read your message (2 words).");
  });

  it("scrolls its transcript into the terminal's history, each line once", async () => {
    await using pane = await DemoPane.ready({ args: FAST });
    await pane.type("lines: 300");
    await pane.keys("Enter");
    await pane.sees("ctx 13%");
    const lines = (await pane.everything()).filter((row) => row.startsWith("line "));
    expect(lines).toEqual(Array.from({ length: 300 }, (_, index) => `line ${index + 1} of 300`));
    expect(Number(await pane.display("#{history_size}"))).toBeGreaterThan(250);
  });

  it("takes a paste of 64 KiB exactly, and shows it folded", async () => {
    await using pane = await DemoPane.ready({ args: FAST });
    const text = Array.from({ length: 1000 }, (_, row) => `row ${row} é日👍 ${"x".repeat(48)}`).join("\n");
    await pane.paste(text);
    await pane.sees("> [Pasted text #1 +999 lines]");
    await pane.keys("Enter");
    expect(await pane.takes(1)).toEqual([text]);
  });

  it("takes a short paste of several lines as one message", async () => {
    await using pane = await DemoPane.ready({ args: FAST });
    await pane.paste("one\n  two\n\nfour");
    await pane.sees("  four");
    await pane.keys("Enter");
    expect(await pane.takes(1)).toEqual(["one\n  two\n\nfour"]);
  });

  it("queues text that is typed while it works, and takes it afterwards", async () => {
    await using pane = await DemoPane.ready({ args: ["--turn-ms", "4000"] });
    for (const text of ["first", "second"]) {
      await pane.type(text);
      await pane.keys("Enter");
    }
    await pane.sees("  ⏳ queued: second");
    expect(await pane.takes(2)).toEqual(["first", "second"]);
    expect((await pane.taken()).map((message) => message.via)).toEqual(["direct", "queue"]);
  });

  it("is interrupted by Escape", async () => {
    await using pane = await DemoPane.ready({ args: SLOW });
    await pane.type("hi");
    await pane.keys("Enter");
    await pane.sees("esc to interrupt");
    await pane.keys("Escape");
    await pane.sees("Interrupted");
    await pane.sees("ready · ");
  });

  it("asks for permission and logs the tool call that it would run", async () => {
    await using pane = await DemoPane.ready({ args: FAST });
    await pane.type("run: make test");
    await pane.keys("Enter");
    const rows = await pane.sees("? Allow this command?");
    expect(rows.at(-2)).toBe("─".repeat(80));
    expect(await pane.toolLog()).toEqual([]);
    await pane.keys("Down", "Enter");
    await pane.sees("ctx 13%");
    expect(await pane.toolLog()).toEqual(["make test"]);
  });

  it("refuses on Escape and runs nothing", async () => {
    await using pane = await DemoPane.ready({ args: FAST });
    await pane.type("run: make test");
    await pane.keys("Enter");
    await pane.sees("? Allow this command?");
    await pane.keys("Escape");
    await pane.sees("ready · ");
    expect(await pane.toolLog()).toEqual([]);
  });

  it("edits with the keys of a line editor", async () => {
    await using pane = await DemoPane.ready({ args: FAST });
    await pane.type("one two thre");
    await pane.keys("BSpace", "C-w", "Home", "Right", "Delete", "End", "C-j");
    await pane.type("new");
    await pane.keys("Enter");
    expect(await pane.takes(1)).toEqual(["oe two \nnew"]);
  });

  it("redraws in a narrower and a wider window without remains of the old drawing", async () => {
    await using pane = await DemoPane.ready({ args: FAST });
    await pane.type("lines: 60");
    await pane.keys("Enter");
    await pane.sees("ctx 13%");
    await pane.type("a draft of some words that has to be wrapped when the window gets narrow");
    await pane.sees("narrow");
    for (const [cols, rows] of [
      [40, 20],
      [100, 30],
      [30, 20],
      [80, 24],
    ] as const) {
      await pane.tmux("resize-window", "-t", "demo", "-x", String(cols), "-y", String(rows));
      await pane.until(`a redraw for ${cols} columns`, async () => {
        const rows = await pane.screen();
        const rules = rows.filter((row) => /^─+$/.test(row));
        const isWhole = rows.at(-1)?.startsWith("ready · ");
        return isWhole && rules.length === 2 && rules.every((rule) => rule.length === cols) ? true : undefined;
      });
      const shown = await pane.everything();
      expect(shown.filter((row) => row.startsWith("> a draft"))).toHaveLength(1);
      expect(shown.filter((row) => row.startsWith("ready · "))).toHaveLength(1);
    }
  });

  it("draws its last rows in a window that becomes lower and higher at the same width", async () => {
    await using pane = await DemoPane.ready({ args: FAST, cols: 80, rows: 24 });
    await pane.type("lines: 60");
    await pane.keys("Enter");
    await pane.sees("ctx 13%");
    for (const rows of [20, 12, 30, 8, 24]) {
      await pane.tmux("resize-window", "-t", "demo", "-x", "80", "-y", String(rows));
      await pane.until(`the last rows of ${rows}`, async () => {
        const [mark, rule, status] = (await pane.screen()).slice(-3);
        const isWhole = mark?.startsWith("> ") && /^─{80}$/.test(rule ?? "") && status?.startsWith("ready · ");
        return isWhole === true ? true : undefined;
      });
    }
  });

  it("uses the alternate screen on request and restores the main screen", async () => {
    await using pane = await DemoPane.ready({ args: [...FAST, "--alternate-screen"] });
    expect(await pane.display("#{alternate_on}")).toBe("1");
    await pane.type("lines: 100");
    await pane.keys("Enter");
    const rows = await pane.sees("ctx 13%");
    expect(rows).toHaveLength(24);
    expect(rows.slice(-5, -3)).toEqual(["line 100 of 100", "─".repeat(80)]);
    expect(await pane.display("#{history_size}")).toBe("0");
    await pane.keys("C-d");
    expect(await pane.exitCode()).toBe(0);
    expect(await pane.display("#{alternate_on}")).toBe("0");
  });

  it.each([
    ["C-c twice", ["C-c", "C-c"]],
    ["C-d on an empty composer", ["C-d"]],
    ["/exit", ["/exit", "Enter"]],
  ])("quits on %s with code 0", async (_, keys) => {
    await using pane = await DemoPane.ready();
    await pane.keys(...keys);
    expect(await pane.exitCode()).toBe(0);
  });

  it("asks for trust first and exits on no", async () => {
    await using pane = await DemoPane.start({ args: ["--trust-dialog"] });
    await pane.sees("? Do you trust the files in this folder?");
    await pane.keys("2");
    expect(await pane.exitCode()).toBe(1);
  });

  it("exits with 143 on SIGTERM", async () => {
    await using pane = await DemoPane.ready();
    process.kill(Number(await pane.display("#{pane_pid}")), "SIGTERM");
    expect(await pane.exitCode()).toBe(143);
  });

  it("uses no processor time while idle", async () => {
    await using pane = await DemoPane.ready();
    const pid = await pane.display("#{pane_pid}");
    const ticks = async () => {
      const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
      return Number(fields[11]) + Number(fields[12]);
    };
    await pane.until("the end of its start", async () => {
      const seen = await ticks();
      await systemClock.sleep(500);
      return (await ticks()) === seen ? true : undefined;
    });
    const before = await ticks();
    await systemClock.sleep(1500);
    expect(await ticks()).toBeLessThanOrEqual(before + 1);
  });
});
