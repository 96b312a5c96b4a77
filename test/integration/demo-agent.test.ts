import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { mkdir, mkdtemp, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../internal/base/clock.ts";
import { DemoPane } from "../support/agents/demo-pane.ts";

const FAST = ["--turn-ms", "150"];
const SLOW = ["--turn-ms", "60000"];

/** A FIFO that somebody reads, and a folder for prompts. */
async function hookFolder() {
  const dir = await mkdtemp(join(tmpdir(), "gt-hooks-"));
  const fifo = join(dir, "fifo");
  const spool = join(dir, "spool");
  await mkdir(spool);
  await promisify(execFile)("mkfifo", [fifo]);
  const file = await open(fifo, constants.O_RDWR | constants.O_NONBLOCK);
  let seen = "";
  const lines = async () => {
    const buffer = Buffer.alloc(4096);
    const { bytesRead } = await file.read(buffer).catch(() => ({ bytesRead: 0 }));
    seen += buffer.toString("utf8", 0, bytesRead);
    return seen.split("\n").slice(0, -1);
  };
  let reading = true;
  const stopReading = async () => {
    if (reading) await file.close();
    reading = false;
  };
  const dispose = async () => {
    await stopReading();
    await rm(dir, { recursive: true, force: true });
  };
  return { fifo, spool, lines, stopReading, [Symbol.asyncDispose]: dispose };
}

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
    await using pane = await DemoPane.ready({ args: ["--turn-ms", "600"] });
    await pane.type("hello there");
    await pane.keys("Enter");
    await pane.sees("· esc to interrupt)");
    expect(await pane.display("#{pane_title}")).toBe("⠂ demo");
    await pane.sees("ctx 13%");
    expect(await pane.taken()).toEqual([{ text: "hello there", at: expect.any(String), via: "direct" }]);
    expect(await pane.screen()).toContain("● Read your message (2 words).");
  });

  it("lets its transcript grow into the terminal's history, each line once", async () => {
    await using pane = await DemoPane.ready({ args: FAST });
    await pane.type("lines: 300");
    await pane.keys("Enter");
    await pane.sees("ctx 13%");
    const lines = (await pane.everything()).filter((row) => row.startsWith("line "));
    expect(lines).toEqual(Array.from({ length: 300 }, (_, index) => `line ${index + 1} of 300`));
    expect(Number(await pane.display("#{history_size}"))).toBeGreaterThan(250);
  });

  it("takes a pasted 64 KiB exactly, folded on the screen", async () => {
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

  it("queues what is typed while it works, and takes it afterwards", async () => {
    await using pane = await DemoPane.ready({ args: ["--turn-ms", "700"] });
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

  it("asks for permission and writes down what it would have run", async () => {
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

  it("draws itself again in a narrower and a wider window and leaves nothing of the old drawing", async () => {
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
        const rules = (await pane.screen()).filter((row) => /^─+$/.test(row));
        return rules.length === 2 && rules.every((rule) => rule.length === cols) ? true : undefined;
      });
      const shown = await pane.everything();
      expect(shown.filter((row) => row.startsWith("> a draft"))).toHaveLength(1);
      expect(shown.filter((row) => row.startsWith("ready · "))).toHaveLength(1);
    }
  });

  it("draws its last rows in a window that gets lower and higher at the same width", async () => {
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

  it("uses the alternate screen when told to and gives the other one back", async () => {
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

  it("asks for trust first and leaves on no", async () => {
    await using pane = await DemoPane.start({ args: ["--trust-dialog"] });
    await pane.sees("? Do you trust the files in this folder?");
    await pane.keys("2");
    expect(await pane.exitCode()).toBe(1);
  });

  it("ends on SIGTERM as a shell counts it", async () => {
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
    await systemClock.sleep(500);
    const before = await ticks();
    await systemClock.sleep(1500);
    expect(await ticks()).toBeLessThanOrEqual(before + 1);
  });
});

describe.concurrent("hooks", () => {
  it("writes events into the FIFO and prompts into private files", async () => {
    await using dir = await hookFolder();
    await using pane = await DemoPane.start({ args: FAST, env: { GT_HOOK_FIFO: dir.fifo, GT_HOOK_DIR: dir.spool } });
    await pane.sees("ready · ");
    await pane.type("run: x");
    await pane.keys("Enter");
    await pane.sees("? Allow");
    await pane.keys("3");
    await pane.sees("ctx 13%");
    const lines = await pane.until("the end of the turn", async () => {
      const seen = await dir.lines();
      return seen.includes("turn-ended") ? seen : undefined;
    });
    const [name = ""] = await readdir(dir.spool);
    expect(lines).toEqual(["session-start", `prompt-submitted ${name}`, "waiting permission", "turn-ended"]);
    expect(await readFile(join(dir.spool, name), "utf8")).toBe("run: x");
    expect((await stat(join(dir.spool, name))).mode & 0o777).toBe(0o600);
  });

  it("goes on where nobody reads the FIFO", async () => {
    await using dir = await hookFolder();
    await dir.stopReading();
    await using pane = await DemoPane.ready({ args: FAST, env: { GT_HOOK_FIFO: dir.fifo } });
    await pane.type("hi");
    await pane.keys("Enter");
    expect(await pane.takes(1)).toEqual(["hi"]);
  });
});

describe.concurrent("faults", () => {
  const faulty = (faults: string, ...args: string[]) =>
    DemoPane.ready({ args: [...FAST, ...args, "--faults", faults] });

  it("drop-first-enter: the message stays until a second Enter", async () => {
    await using pane = await faulty("drop-first-enter");
    await pane.type("stays");
    await pane.keys("Enter");
    await pane.sees("> stays");
    expect(await pane.taken()).toEqual([]);
    await pane.keys("Enter");
    expect(await pane.takes(1)).toEqual(["stays"]);
  });

  it("echo-delay: the paste is shown late", async () => {
    await using pane = await faulty("echo-delay=400");
    const began = performance.now();
    await pane.paste("late");
    await pane.sees("> late");
    expect(performance.now() - began).toBeGreaterThan(390);
  });

  it("no-bracketed-paste: a paste of lines is text, the Enter after it submits", async () => {
    await using pane = await faulty("no-bracketed-paste");
    await pane.paste("one\ntwo");
    await pane.sees("  two");
    expect(await pane.taken()).toEqual([]);
    await pane.keys("Enter");
    expect(await pane.takes(1)).toEqual(["one\ntwo"]);
  });

  it("flicker-idle: looks idle while it works", async () => {
    await using pane = await DemoPane.ready({ args: ["--turn-ms", "1500", "--faults", "flicker-idle=400"] });
    await pane.type("hi");
    await pane.keys("Enter");
    await pane.sees("esc to interrupt");
    await pane.sees("ready · ");
    await pane.sees("esc to interrupt");
    await pane.keys("C-d");
  });

  it("exit-on: leaves with the code it was given", async () => {
    await using pane = await faulty("exit-on=die now,exit-code=42");
    await pane.type("please die now");
    await pane.keys("Enter");
    expect(await pane.exitCode()).toBe(42);
    expect(await pane.takes(1)).toEqual(["please die now"]);
  });

  it("hang-on: stays alive, draws and reads nothing any more", async () => {
    await using pane = await faulty("hang-on=freeze");
    await pane.type("freeze");
    await pane.keys("Enter");
    await pane.takes(1);
    const before = await pane.screen();
    await pane.type("anybody there");
    await pane.keys("C-c", "C-c");
    await systemClock.sleep(400);
    expect(await pane.screen()).toEqual(before);
    expect(await pane.display("#{pane_dead}")).toBe("0");
  });

  it("eat-enter-after-paste: an Enter right after the paste is a line break", async () => {
    await using pane = await faulty("eat-enter-after-paste=300");
    await pane.paste("text");
    await pane.keys("Enter");
    await pane.sees("> text");
    await systemClock.sleep(350);
    await pane.keys("Enter");
    expect(await pane.takes(1)).toEqual(["text\n"]);
  });

  it("open-dialog-on-paste: a dialog opens over the draft", async () => {
    await using pane = await faulty("open-dialog-on-paste");
    await pane.paste("a nudge");
    await pane.sees("? Allow this command?");
    expect(await pane.toolLog()).toEqual([]);
    await pane.keys("Escape");
    await pane.sees("> a nudge");
  });

  it("spinner-always: draws forever while idle", async () => {
    await using pane = await faulty("spinner-always");
    const first = (await pane.screen()).at(-1);
    await pane.until("another status line", async () => ((await pane.screen()).at(-1) === first ? undefined : true));
  });

  it("slow-start: an Enter before the composer is there is lost, the text is not", async () => {
    await using pane = await DemoPane.start({ args: [...FAST, "--faults", "slow-start=700"] });
    await pane.sees("Starting…");
    await pane.type("early");
    await pane.keys("Enter");
    await pane.sees("> early");
    expect(await pane.taken()).toEqual([]);
  });

  it("garbage: control replies on the screen, and it works on", async () => {
    await using pane = await faulty("garbage");
    await pane.type("hi");
    await pane.keys("Enter");
    await pane.sees("%begin 1700000000 1 1");
    await pane.sees("ctx 13%");
    expect(await pane.takes(1)).toEqual(["hi"]);
  });
});
