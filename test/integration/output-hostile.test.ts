import { existsSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { UpdateKind, WatchMode } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { abortOnExit } from "../../internal/rpc/client/transport.ts";
import { calmTime } from "../support/calm-time.ts";
import { type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";

/** Prints each file that is put at `next`, byte for byte; stores its input in `typed`. */
const PRINTER = `
const fs = require("node:fs");
fs.writeFileSync("typed", "");
process.stdin.on("data", (data) => fs.appendFileSync("typed", data));
setInterval(() => {
  if (!fs.existsSync("next")) return;
  fs.renameSync("next", "now");
  const bytes = fs.readFileSync("now");
  for (let at = 0; at < bytes.length; ) {
    try { at += fs.writeSync(1, bytes, at); } catch (err) { if (err.code !== "EAGAIN") throw err; }
  }
  fs.unlinkSync("now");
}, 20);
`;

type Printer = RunningSidecar & { print(bytes: Uint8Array | string): Promise<void> };

async function printer(): Promise<Printer> {
  const command = ["sh", "-c", 'stty raw -echo; exec "$0" -e "$1"', process.execPath, PRINTER];
  const sidecar = await startSidecar({ agent: "generic", command });
  const [next, now] = [join(sidecar.dir, "next"), join(sidecar.dir, "now")];
  const print = async (bytes: Uint8Array | string) => {
    await writeFile(`${next}.new`, bytes);
    await rename(`${next}.new`, next);
    await until("the bytes to be printed", 60_000, () => (!existsSync(next) && !existsSync(now)) || undefined);
  };
  return { ...sidecar, print };
}

/** Waits until this is the last line of the screen. */
async function lastLine(sidecar: RunningSidecar, text: string): Promise<void> {
  const ask = async () => (await sidecar.client.peek({ lines: 1 })).output === text || undefined;
  await until(`the line ${text}`, 60_000, ask);
}

/** The longest of some Status calls, in ms of a calm machine. */
async function slowestStatus(sidecar: RunningSidecar): Promise<number> {
  let slowest = 0;
  for (let i = 0; i < 10; i++) {
    const passed = calmTime();
    expect((await sidecar.client.status({})).sessionAlive).toBe(true);
    slowest = Math.max(slowest, passed());
  }
  return slowest;
}

/** Slower than a busy test machine, but faster than a blocked sidecar. */
const SOON_MS = 2000;

/** One sidecar for all tests that leave it unchanged: each test clears the screen first. */
let sidecar: Printer;
beforeAll(async () => {
  sidecar = await printer();
}, 60_000);
afterAll(() => sidecar[Symbol.asyncDispose](), 60_000);
beforeEach(() => sidecar.print("\x1b[0m\x1b[2J\x1b[3J\x1b[H"), 60_000);

describe("misleading output", () => {
  it("that imitates tmux's control mode is shown as text and not interpreted", async () => {
    const lines = [
      "%begin 1 1 1",
      "%end 1 1 1",
      "%error 1 1 0",
      "%output %0 x",
      "%exit",
      "%exit too far behind",
      "%pause %0",
    ];
    await sidecar.print(lines.map((line) => `${line}\r\n`).join(""));
    await lastLine(sidecar, "%pause %0");
    const { output } = await sidecar.client.peek({ lines: lines.length });
    expect(output).toBe(lines.join("\n"));
    expect((await sidecar.client.peek({ all: true, ansi: true })).output).toContain("%exit too far behind");
    expect(await slowestStatus(sidecar)).toBeLessThan(SOON_MS);
  });

  it("that queries the terminal gets one answer per query, from tmux", async () => {
    await sidecar.print("\x1b[c\x1b[6n\x1b[5n\x1b[>q\x1b]10;?\x07\x1b]52;c;?\x07\x1b[?2026$p\x1bP$qm\x1b\\done");
    await lastLine(sidecar, "done");
    const typed = await until("an answer", 30_000, async () => {
      return (await readFile(join(sidecar.dir, "typed"), "latin1")) || undefined;
    });
    expect(typed.match(/\x1b\[\?[\d;]*c/g)).toHaveLength(1);
    expect(typed.match(/\x1b\[\d+;\d+R/g)).toHaveLength(1);
    expect(typed.match(/\x1b\[0n/g)).toHaveLength(1);
  });

  it("with titles, clipboards, links, pictures or broken characters is shown as plain or styled text", async () => {
    const hostile = [
      "\x1b]0;title\x07\x1b]2;\x1b\\\x1b]52;c;c2VjcmV0\x07\x1b]8;;http://example.invalid\x1b\\link\x1b]8;;\x1b\\\r\n",
      "\x1bPq#0;2;0;0;0#0!100~-\x1b\\\x1b_application\x1b\\\x1b^private\x1b\\after\r\n",
      "a\x00b\x07c\x08\x7fd\r\n",
      "\x1b[31mred\x1b[0m \x1b[?1000h\x1b[?2004h\x1b[>4;2m\x1b[=1u\x1b]1337;File=:AA==\x07\u202Eoverride\r\n",
    ];
    const broken = Buffer.from([0xc3, 0x28, 0xff, 0xfe, 0x80, 0xe2, 0x82, 0x0d, 0x0a]);
    await sidecar.print(Buffer.concat([Buffer.from(hostile.join("")), broken, Buffer.from("end\r\n")]));
    await lastLine(sidecar, "end");
    const plain = (await sidecar.client.peek({ lines: 20 })).output;
    expect(plain).toMatch(/link\nafter\n/);
    expect(plain).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
    const styled = (await sidecar.client.peek({ lines: 20, ansi: true })).output;
    expect(styled).toContain("\x1b[31mred");
    expect(styled.replaceAll(/\x1b\[[0-9;:]*m/g, "")).not.toMatch(
      /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/,
    );
    for await (const update of abortOnExit((signal) => sidecar.client.watchOutput({ lines: 20 }, { signal }))) {
      expect(update.output).toBe(plain);
      break;
    }
  });

  it("reaches a RAW watcher byte for byte", async () => {
    const bytes = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7 + (i >> 8)) & 0xff));
    // Earlier output has arrived once its last byte is seen; otherwise it would be mistaken for the first of these
    // bytes.
    await sidecar.print("here");
    await lastLine(sidecar, "here");
    const parts: Buffer[] = [];
    for await (const update of abortOnExit((signal) =>
      sidecar.client.watchOutput({ mode: WatchMode.RAW, intervalMs: 10 }, { signal }),
    )) {
      if (update.kind === UpdateKind.SNAPSHOT) void sidecar.print(bytes);
      else parts.push(Buffer.from(update.data));
      if (Buffer.concat(parts).length >= bytes.length) break;
    }
    expect(Buffer.concat(parts).equals(bytes)).toBe(true);
  });
});

/** Lets an agent that waits for a line begin its flood. */
async function begin({ client }: RunningSidecar): Promise<void> {
  // The agent is alive a moment before its terminal can be reached.
  const press = () =>
    client.sendKeys({ keys: ["Enter"] }).then(
      () => true,
      () => undefined,
    );
  await until("a key to be pressed", 30_000, press);
  await until("the flood", 30_000, async () => (await client.peek({})).offset > 1_000_000n || undefined);
}

describe("excessive output", () => {
  it("may be a line of 10 MB", async () => {
    await sidecar.print(Buffer.concat([Buffer.alloc(10_000_000, "x"), Buffer.from("\r\nafter the line\r\n")]));
    expect(await slowestStatus(sidecar)).toBeLessThan(SOON_MS);
    await lastLine(sidecar, "after the line");
    const { output } = await sidecar.client.peek({ lines: 2, joinWrapped: true });
    expect(output.length).toBeLessThan(3.1 * 1024 * 1024);
    expect(output).toMatch(/x\nafter the line$/);
  });

  it("may be a million requests to resize, and hundreds of real ones", async () => {
    await sidecar.print(`${"\x1b[8;30;90t\x1b[4;300;900t".repeat(500_000)}\r\nstill there\r\n`);
    await lastLine(sidecar, "still there");
    const { cols, rows } = await sidecar.client.status({});
    expect([cols, rows]).toEqual([160, 50]);
    expect(await slowestStatus(sidecar)).toBeLessThan(SOON_MS);
  });

  it("may be a flood: Status answers during it, and a new RAW watcher gets a screen at once", async () => {
    const script = "read x; exec yes a flood of lines that does not end";
    await using sidecar = await startSidecar({ agent: "generic", command: ["sh", "-c", script] });
    await begin(sidecar);
    expect(await slowestStatus(sidecar)).toBeLessThan(SOON_MS);
    const passed = calmTime();
    let bytes = 0;
    for await (const update of abortOnExit((signal) =>
      sidecar.client.watchOutput({ mode: WatchMode.RAW }, { signal }),
    )) {
      if (update.kind === UpdateKind.SNAPSHOT) {
        expect(passed()).toBeLessThan(2 * SOON_MS);
        expect(Buffer.from(update.data).toString()).toContain("a flood of lines");
      }
      bytes += update.data.length;
      if (bytes > 5_000_000) break;
    }
    const { output } = await sidecar.client.peek({ lines: 5 });
    const line = "a flood of lines that does not end";
    const last = output.split("\n").at(-1) ?? "";
    expect(output.split("\n").slice(0, -1)).toEqual(Array(4).fill(line));
    expect(line.startsWith(last)).toBe(true); // it is being printed
  });

  it("is overtaken by Ctrl-C", async () => {
    const script = "trap : INT; read x; yes flood; echo; echo interrupted; exec sleep 1000";
    await using sidecar = await startSidecar({ agent: "generic", command: ["bash", "-c", script] });
    await begin(sidecar);
    await sidecar.client.sendKeys({ keys: ["C-c"] });
    await lastLine(sidecar, "interrupted");
  });
});

it("a terminal that disappears is reported once with a reason and ends the stream", async () => {
  const flags = ["--restart", "never", "--linger", "10s"];
  const command = ["bash", "-c", "read x; echo bye; kill -9 $$"];
  await using sidecar = await startSidecar({ agent: "generic", command, flags });
  const kinds: UpdateKind[] = [];
  let reason = "";
  for await (const update of sidecar.client.watchOutput({ mode: WatchMode.RAW })) {
    if (kinds.length === 0) await sidecar.client.sendKeys({ keys: ["Enter"] });
    kinds.push(update.kind);
    reason = update.endReason;
  }
  expect(kinds.filter((kind) => kind === UpdateKind.END)).toHaveLength(1);
  expect(kinds.at(-1)).toBe(UpdateKind.END);
  expect(reason).toBe("the agent has ended");
});
