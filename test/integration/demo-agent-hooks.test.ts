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

/** A FIFO with a reader, and a folder for prompts. */
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

describe.concurrent("hooks", () => {
  it("write events into the FIFO and prompts into private files", async () => {
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
    expect(lines).toEqual([
      "session-start",
      expect.stringMatching(/^session [\w-]{36}$/),
      `prompt-submitted ${name}`,
      "waiting permission",
      "turn-ended",
    ]);
    expect(await readFile(join(dir.spool, name), "utf8")).toBe("run: x");
    expect((await stat(join(dir.spool, name))).mode & 0o777).toBe(0o600);
  });

  it("continue when the FIFO has no reader", async () => {
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

  it("no-bracketed-paste: pasted lines are typed text, and the next Enter submits them", async () => {
    await using pane = await faulty("no-bracketed-paste");
    await pane.paste("one\ntwo");
    await pane.sees("  two");
    expect(await pane.taken()).toEqual([]);
    await pane.keys("Enter");
    expect(await pane.takes(1)).toEqual(["one\ntwo"]);
  });

  it("flicker-idle: looks idle while it works", async () => {
    await using pane = await DemoPane.ready({ args: ["--turn-ms", "6000", "--faults", "flicker-idle=3000"] });
    await pane.type("hi");
    await pane.keys("Enter");
    await pane.sees("esc to interrupt");
    await pane.sees("ready · ");
    await pane.sees("esc to interrupt");
    await pane.keys("C-d");
  });

  it("exit-on: exits with the given code", async () => {
    await using pane = await faulty("exit-on=die now,exit-code=42");
    await pane.type("please die now");
    await pane.keys("Enter");
    expect(await pane.exitCode()).toBe(42);
    expect(await pane.takes(1)).toEqual(["please die now"]);
  });

  it("hang-on: stays alive, but draws and reads nothing more", async () => {
    await using pane = await faulty("hang-on=freeze");
    await pane.type("freeze");
    await pane.keys("Enter");
    await pane.takes(1);
    const before = await pane.sees("esc to interrupt");
    await pane.type("anybody there");
    await pane.keys("C-c", "C-c");
    await systemClock.sleep(400);
    expect(await pane.screen()).toEqual(before);
    expect(await pane.display("#{pane_dead}")).toBe("0");
  });

  it("eat-enter-after-paste: an Enter directly after the paste becomes a line break", async () => {
    await using pane = await faulty("eat-enter-after-paste=2000");
    await pane.paste("text");
    await pane.keys("Enter");
    await pane.sees("> text");
    await systemClock.sleep(2050);
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

  it("slow-start: an Enter before the composer is drawn is lost, typed text is not", async () => {
    await using pane = await DemoPane.start({ args: [...FAST, "--faults", "slow-start=4000"] });
    await pane.sees("Starting…");
    await pane.type("early");
    await pane.keys("Enter");
    await pane.sees("> early");
    expect(await pane.taken()).toEqual([]);
  });

  it("garbage: it prints control replies on the screen and continues", async () => {
    await using pane = await faulty("garbage");
    await pane.type("hi");
    await pane.keys("Enter");
    await pane.sees("%begin 1700000000 1 1");
    await pane.sees("ctx 13%");
    expect(await pane.takes(1)).toEqual(["hi"]);
  });
});
