import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { kill } from "node:process";
import { promisify } from "node:util";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { type RunningSidecar, type SidecarSetup, startSidecar, until } from "../support/sidecar/sidecar.ts";
import { inItsTmux } from "../support/sidecar/sidecar-hands.ts";

const run = promisify(execFile);
const COLS = 60;
const ROWS = 12;
const SIZE = ["--cols", String(COLS), "--rows", String(ROWS)];

/** A sidecar whose agent prints these bytes, confirms it in the window's title, and then waits. */
async function printing(bytes: string | Buffer, setup: SidecarSetup = {}): Promise<RunningSidecar> {
  let file = "";
  const sidecar = await startSidecar((dir) => {
    file = join(dir, "bytes");
    const script = `while [ ! -e "${file}" ]; do sleep 0.05; done; cat "${file}"; printf '\\033]2;printed\\007'; exec sleep 1000`;
    return { agent: "generic", command: ["sh", "-c", script], ...setup, flags: [...SIZE, ...(setup.flags ?? [])] };
  });
  await writeFile(`${file}.new`, bytes);
  await run("mv", [`${file}.new`, file]);
  await printed(sidecar);
  return sidecar;
}

/** Waits until both tmux and the sidecar have processed the agent's output. */
async function printed(sidecar: RunningSidecar): Promise<void> {
  await until("the agent to have printed", 30_000, async () => {
    const title = await tmux(sidecar, "display-message", "-p", "-t", "=claude:", "#{pane_title}");
    return title.trim() === "printed" || undefined;
  });
  let before = -1n;
  await until("the output to be taken in", 30_000, async () => {
    const { offset } = await sidecar.client.peek({ lines: 1 });
    const isSettled = offset === before;
    before = offset;
    await new Promise((resolve) => setTimeout(resolve, 40));
    return isSettled || undefined;
  });
}

async function tmux(sidecar: RunningSidecar, ...args: string[]): Promise<string> {
  const socket = join(sidecar.stateDir, "tmux.sock");
  const { stdout } = await run("tmux", ["-N", "-u", "-S", socket, ...args], { maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

/** The contents according to tmux itself: every line, without blanks at the ends of lines and below the last text. */
async function truth(sidecar: RunningSidecar, ...flags: string[]): Promise<readonly string[]> {
  const text = await tmux(sidecar, "capture-pane", "-p", "-S", "-", ...flags, "-t", "=claude:");
  const lines = text.split("\n").map((line) => line.trimEnd());
  return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1);
}

const last = (lines: readonly string[], count: number) => lines.slice(-count).join("\n");
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1} of it`).join("\n");

describe("peek returns exactly the last lines", () => {
  it("for any number of lines, and all of them", async () => {
    await using sidecar = await printing(`${numbered(3000)}\n\n\n`);
    const lines = await truth(sidecar);
    expect(lines).toHaveLength(3000);
    for (const count of [1, 5, ROWS - 1, ROWS, ROWS + 1, 500, 999, 1001, 1500, 2999, 3000, 3001, 100_000]) {
      const { output, truncated } = await sidecar.client.peek({ lines: count });
      expect(output, `${count} lines`).toBe(last(lines, count));
      expect(truncated).toBe(false);
    }
    expect((await sidecar.client.peek({})).output).toBe(last(lines, 50));
    expect((await sidecar.client.peek({ all: true })).output).toBe(lines.join("\n"));
    const { historyLines } = await sidecar.client.peek({});
    expect(historyLines).toBe(Number(await inItsTmux(sidecar, "display-message", "-p", "#{history_size}")));
    expect(historyLines).toBeGreaterThan(2900);
  });

  it("of a screen that is not full, and refuses more than 100,000", async () => {
    await using sidecar = await printing("one\n\nthree\n");
    for (const count of [1, 2, 3, 5, 100]) {
      expect((await sidecar.client.peek({ lines: count })).output).toBe(last(["one", "", "three"], count));
    }
    const whole = await sidecar.client.peek({ lines: 5 });
    expect(whole).toMatchObject({ cols: COLS, rows: ROWS, sessionAlive: true, alternateScreen: false, cursorX: 0 });
    expect(whole.cursorY).toBe(3);
    await expect(sidecar.client.peek({ lines: 100_001 })).rejects.toMatchObject({ code: Code.InvalidArgument });
  });

  it("with wide and combined characters", async () => {
    const texts = ["日本語のテキスト", "emoji 🎉 and 👍", "cafe\u0301 e\u0301", "한국어 mixed with ASCII", "｜full｜"];
    await using sidecar = await printing(`${texts.join("\n")}\n`);
    const lines = await truth(sidecar);
    expect(lines).toEqual(texts);
    for (const count of [1, 3, 5]) {
      expect((await sidecar.client.peek({ lines: count })).output).toBe(last(lines, count));
    }
  });

  it("with wrapped lines joined or as on the screen", async () => {
    const long = "word ".repeat(40).trim();
    const wide = `a${"日".repeat(70)}`;
    const longest = Array.from({ length: 300 }, (_, i) => `<${i}>`).join("");
    await using sidecar = await printing(`short\n${long}\n${wide}\n${longest}\nend\n`);
    const [rows, joined] = [await truth(sidecar), await truth(sidecar, "-J")];
    expect(joined).toEqual(["short", long, wide, longest, "end"]);
    for (const count of [1, 2, 3, 4, 5, 9, 30, 100]) {
      expect((await sidecar.client.peek({ lines: count })).output, `${count}`).toBe(last(rows, count));
      const peeked = await sidecar.client.peek({ lines: count, joinWrapped: true });
      expect(peeked.output, `${count} joined`).toBe(last(joined, count));
    }
  });

  it("of the alternate screen, which it reports", async () => {
    await using sidecar = await printing(`${numbered(40)}\n\x1b[?1049h\x1b[Hfull screen\r\nsecond row`);
    const lines = await truth(sidecar);
    for (const count of [1, 2, ROWS, 30]) {
      const peeked = await sidecar.client.peek({ lines: count });
      expect(peeked.alternateScreen).toBe(true);
      expect(peeked.output, `${count} lines`).toBe(last(lines, count));
    }
  });
});

describe("the shown text", () => {
  const HOSTILE =
    "\x1b]52;c;c2VjcmV0\x07\x1b]8;;http://example.invalid\x1b\\link\x1b]8;;\x1b\\\r\n" +
    "\x1b[31mred\x1b[0m \x1b[1;4mbold\x1b[0m\r\n\x1bPq#0;2;0;0;0\x1b\\\x1b]0;evil\x07\x1b]1337;File=:AA==\x07done\r\n";

  it("has no escape sequences, or with ansi only those for styles", async () => {
    await using sidecar = await printing(HOSTILE);
    const plain = await sidecar.client.peek({ lines: 10 });
    expect(plain.output).toBe("link\nred bold\ndone");
    const { output } = await sidecar.client.peek({ lines: 10, ansi: true });
    expect(output).toMatch(/\x1b\[31mred/);
    expect(output.replace(/\x1b\[[0-9;:]*m/g, "")).toBe("link\nred bold\ndone");
  });

  it("keeps a style that spans several lines, whichever lines are requested", async () => {
    await using sidecar = await printing("\x1b[31mone\ntwo\nthree\x1b[0m\nplain\n");
    for (const count of [2, 3, 4]) {
      const { output } = await sidecar.client.peek({ lines: count, ansi: true });
      const lines = output.split("\n");
      expect(lines.at(-1), `${count} lines`).toMatch(/^(?:(?:\x1b\[\d*m)*\x1b\[(?:0|39)m)?plain(?:\x1b\[0m)?$/);
      for (const line of lines.slice(0, -1)) expect(line).toMatch(/^(?:\x1b\[0?m)*\x1b\[31m\w+(?:\x1b\[0m)+$/);
    }
  });
});

it("of a dead agent is its last screen", async () => {
  const flags = [...SIZE, "--restart", "never", "--linger", "20s"];
  const command = ["sh", "-c", "echo last words; sleep 0.3; exit 3"];
  await using sidecar = await startSidecar({ agent: "generic", command, flags });
  await until("the end of the agent", 30_000, async () => !(await sidecar.client.status({})).sessionAlive || undefined);
  expect(await sidecar.client.peek({ lines: 5 })).toMatchObject({ sessionAlive: false, output: "last words" });
});

describe("a restarted serving half", () => {
  const killed = async (sidecar: RunningSidecar) => {
    const pid = sidecar.servingPid();
    kill(pid, "SIGKILL");
    await until("another serving half", 30_000, async () => {
      const status = await sidecar.client.status({}, { timeoutMs: 500 }).catch(() => undefined);
      return (status?.sessionAlive && sidecar.servingPid() !== pid) || undefined;
    });
  };

  it("returns the same lines", async () => {
    const long = "word ".repeat(40).trim();
    await using sidecar = await printing(`${numbered(1500)}\n日本語 🎉\n${long}\n`);
    const ask = async () => {
      const answers = [];
      for (const lines of [1, 5, ROWS, ROWS + 1, 1200, 100_000])
        for (const joinWrapped of [false, true])
          answers.push((await sidecar.client.peek({ lines, joinWrapped })).output);
      return answers;
    };
    const before = await ask();
    await killed(sidecar);
    expect(await ask()).toEqual(before);
  });

  it("keeps the main screen behind an alternate one, and shows it when the agent leaves the latter", async () => {
    const script =
      "echo before; printf '\\033[?1049h\\033[Hfull screen'; read x; printf '\\033[?1049l'; echo after; cat";
    await using sidecar = await startSidecar({ agent: "generic", command: ["sh", "-c", script], flags: SIZE });
    const shows = (text: string) =>
      until(text, 30_000, async () => (await sidecar.client.peek({ lines: 1 })).output === text || undefined);
    await shows("full screen");
    await killed(sidecar);
    expect(await sidecar.client.peek({ lines: 1 })).toMatchObject({ output: "full screen", alternateScreen: true });
    await tmux(sidecar, "send-keys", "-t", "=claude:", "x", "Enter");
    await shows("after");
    expect((await sidecar.client.peek({ lines: 5 })).output).toBe(last(await truth(sidecar), 5));
  });

  it("shows output from during and after the restart", async () => {
    const script = "i=0; while [ $i -lt 600 ]; do i=$((i+1)); echo row $i; sleep 0.005; done; exec sleep 1000";
    await using sidecar = await startSidecar({ agent: "generic", command: ["sh", "-c", script], flags: SIZE });
    for (let i = 0; i < 2; i++) await killed(sidecar);
    await until("the last row", 30_000, async () => {
      return (await tmux(sidecar, "capture-pane", "-p", "-t", "=claude:")).includes("row 600") || undefined;
    });
    const rows = Array.from({ length: 600 }, (_, i) => `row ${i + 1}`);
    await until("the sidecar to have it", 30_000, async () => {
      return (await sidecar.client.peek({ lines: 1 })).output === "row 600" || undefined;
    });
    for (const lines of [5, 300, 600]) {
      expect((await sidecar.client.peek({ lines })).output, `${lines} lines`).toBe(last(rows, lines));
    }
  });
});
