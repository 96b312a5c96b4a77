import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { OutputStream } from "./output.ts";

function stream(clock = new FakeClock(), startOffset = 0n): OutputStream {
  return new OutputStream({ clock }, { cols: 20, rows: 4, rawBytes: 1000, epoch: "e1", startOffset });
}
const redraw = (text: string, cols = 20, rows = 4) => ({ text, cols, rows, hasHistory: true });
/** Takes `text` as output, and waits until it is drawn. */
async function print(output: OutputStream, text: string): Promise<void> {
  output.take(Buffer.from(text));
  await output.drawn();
}
const texts = (output: OutputStream) => output.emulator.rowsText(100).map((row) => row.text);

describe("the output of the agent", () => {
  it("is stored as bytes with their offsets, and drawn", async () => {
    const output = stream(new FakeClock(), 100n);
    expect(output.drawnTo).toBe(100n);
    await print(output, "hello");
    expect([output.ring.start, output.ring.end, output.drawnTo]).toEqual([100n, 105n, 105n]);
    expect(texts(output)[0]).toBe("hello");
  });

  it("is drawn on at most 500 columns and 300 rows, however large the window is", async () => {
    const output = stream();
    await output.resize(10_000, 10_000);
    expect([output.emulator.cols, output.emulator.rows]).toEqual([500, 300]);
    await output.redraw(redraw("as tmux has it", 9000, 9000), 0n, true);
    expect([output.emulator.cols, output.emulator.rows]).toEqual([500, 300]);
  });

  it("is reported to listeners: the bytes first, and the screen after it is drawn", async () => {
    const output = stream();
    const reported: string[] = [];
    output.bytes.listen(() => reported.push(`bytes to ${output.ring.end}, drawn to ${output.drawnTo}`));
    output.screens.listen(() => reported.push(`screen, drawn to ${output.drawnTo}`));
    await print(output, "abc");
    expect(reported).toEqual(["bytes to 3, drawn to 0", "screen, drawn to 3"]);
  });

  it("has the time of the last output, and the time that has passed since", async () => {
    const clock = new FakeClock();
    const output = stream(clock);
    expect([output.lastOutputAt, output.quietMs()]).toEqual([undefined, Number.POSITIVE_INFINITY]);
    await print(output, "x");
    const at = clock.now();
    await clock.advance(500);
    expect([output.lastOutputAt, output.quietMs()]).toEqual([at, 500]);
  });
});

describe("after an interruption", () => {
  it("leaves out one offset for the lost bytes, reports the gap, and shows the current screen", async () => {
    const output = stream();
    await print(output, "old");
    await output.resumeFrom(redraw("new screen\r\nsecond row", 30, 6));
    expect(output.lastGap).toEqual({ first: 3n, to: 4n, reason: "restart" });
    expect([output.ring.start, output.ring.end, output.drawnTo]).toEqual([0n, 4n, 4n]);
    expect([output.emulator.cols, output.emulator.rows]).toEqual([30, 6]);
    expect(texts(output).slice(0, 3)).toEqual(["new screen", "second row", ""]);
  });

  it("does not count the redraw as output of the agent", async () => {
    const clock = new FakeClock();
    const output = stream(clock);
    await output.resumeFrom(redraw("x"));
    expect(output.lastOutputAt).toBeUndefined();
    await clock.advance(100);
    expect(output.quietMs()).toBe(100);
  });

  it("draws no earlier bytes over the new screen, even if their drawing has begun", async () => {
    const output = stream();
    output.take(Buffer.from("old bytes\r\n"));
    const restarting = output.resumeFrom(redraw("new screen"));
    await restarting;
    expect(texts(output).filter((text) => text !== "")).toEqual(["new screen"]);
    expect(output.drawnTo).toBe(output.ring.end);
  });

  it("draws the bytes that arrive meanwhile on top of the new screen", async () => {
    const output = stream();
    const restarting = output.resumeFrom(redraw("new screen"));
    output.take(Buffer.from(" and more"));
    await restarting;
    await output.drawn();
    expect(texts(output)[0]).toBe("new screen and more");
    expect([output.drawnTo, output.ring.end]).toEqual([10n, 10n]);
  });
});

it("draws bytes that arrive just when all others have been drawn", async () => {
  const output = stream();
  await output.resumeFrom(redraw("screen"));
  for (let i = 0; i < 20; i++) await print(output, `${i % 10}`);
  await output.drawn();
  output.screens.listen(() => Promise.resolve().then(() => output.ring.end < 40n && output.take(Buffer.from("."))));
  await print(output, "!");
  await expect.poll(() => output.drawnTo).toBe(40n);
});

it("moves the old screen into the history and resets the terminal's modes when the agent is restarted", async () => {
  const output = stream();
  await print(output, "last words\x1b[?2004h");
  await output.renew();
  await print(output, "first words");
  expect(output.emulator.screen()).toMatchObject({ bracketedPaste: false, alternate: false, cursorY: 0 });
  expect(output.emulator.screen().lines[0]?.text).toBe("first words");
  expect(texts(output)).toContain("last words");
});
