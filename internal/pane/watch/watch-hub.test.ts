import { describe, expect, it } from "vitest";
import {
  assembled,
  clock,
  encoded,
  end,
  output,
  printOutput,
  rawRequest,
  screenRequest,
  useWatchBed,
  watcher,
} from "../../../test/support/pane/watch-bed.ts";
import { WATCH_BACKLOG_BYTES } from "./watch-sink.ts";

useWatchBed();

describe("many raw watchers", () => {
  it("get the same bytes, encoded once", async () => {
    const watchers = await Promise.all(Array.from({ length: 50 }, () => watcher(rawRequest)));
    for (const text of ["one", "two", "three"]) {
      await printOutput(text);
      await clock.advance(200);
    }
    for (const { all } of watchers) expect(assembled(all()).text).toBe("onetwothree");
    expect(encoded).toBe(3);
    expect(watchers[0]?.sink.sent[1]).toBe(watchers[49]?.sink.sent[1]);
  });

  it("are served together even if they joined at different times and positions", async () => {
    const early = await watcher(rawRequest);
    await printOutput("abc");
    await clock.advance(200);
    const late = await watcher({ ...rawRequest, epoch: "e1", afterOffset: 2n });
    await printOutput("def");
    await clock.advance(200);
    expect(assembled(early.all()).text).toBe("abcdef");
    expect(late.all().map((update) => Buffer.from(update.data).toString())).toEqual(["bc", "def"]);
    expect(late.sink.sent[0]).toBe(early.sink.sent[1]);
  });

  it("are not affected by one that does not read, which gets at most its limit and then a gap", async () => {
    const [slow, quick] = [await watcher(rawRequest), await watcher(rawRequest)];
    slow.sink.isStalled = true;
    let printed = "";
    for (let i = 0; i < 40; i++) {
      const piece = `${i},`.repeat(20_000);
      printed += piece;
      await printOutput(piece);
      await clock.advance(100);
    }
    expect(assembled(quick.all())).toEqual({ text: printed, gaps: [] });
    expect(slow.sink.backlog).toBeLessThan(WATCH_BACKLOG_BYTES + 2 * 65_536);
    slow.sink.drain();
    await clock.advance(100);
    const { gaps } = assembled(slow.all());
    expect(gaps).toEqual([[expect.any(BigInt), output.ring.end, "slow-reader"]]);
  });

  it("catch up without a gap while the missed bytes are still held", async () => {
    const slow = await watcher(rawRequest);
    slow.sink.isStalled = true;
    let printed = "";
    for (let i = 0; i < 9; i++) {
      const piece = `${i},`.repeat(50_000);
      printed += piece;
      await printOutput(piece);
      await clock.advance(100);
    }
    expect(assembled(slow.all()).text.length).toBeLessThan(printed.length);
    slow.sink.drain();
    expect(assembled(slow.all())).toEqual({ text: printed, gaps: [] });
  });

  it("get a new snapshot when the agent restarts", async () => {
    const one = await watcher(rawRequest);
    await printOutput("last words\x1b[?2004h");
    await output.renew();
    await printOutput("first words");
    await clock.advance(200);
    const reported = one.sink.sent.filter((update) => update.kind !== "heartbeat");
    const kinds = reported.map((update) => [update.kind, Buffer.from(update.data).toString()]);
    expect(kinds).toEqual([
      ["change", "last words\x1b[?2004h"],
      ["snapshot", expect.not.stringContaining("last words")],
      ["change", "first words"],
    ]);
    expect(assembled(one.all()).gaps).toEqual([]);
  });

  it("all get the end, after the last bytes", async () => {
    const [one, stalled] = [await watcher(rawRequest), await watcher(rawRequest)];
    stalled.sink.isStalled = true;
    await printOutput("x".repeat(300_000));
    await clock.advance(100);
    end("the agent has ended");
    await clock.until(one.done);
    expect(one.sink.sent.at(-1)).toMatchObject({ kind: "end", endReason: "the agent has ended" });
    stalled.sink.drain();
    await stalled.done;
    expect(assembled(stalled.all()).text).toHaveLength(300_000);
  });

  it("end when their signal is aborted, and get nothing after it", async () => {
    const own = new AbortController();
    const one = await watcher(rawRequest, own.signal);
    const other = await watcher(rawRequest);
    own.abort(new Error("gone"));
    await expect(one.done).rejects.toThrow("gone");
    await printOutput("later");
    await clock.advance(200);
    expect(one.sink.sent).toEqual([]);
    expect(assembled(other.all()).text).toBe("later");
  });

  it("get a heartbeat of a silent agent's stream within 15 seconds", async () => {
    const one = await watcher(rawRequest);
    await clock.advance(16_000);
    expect(one.sink.sent.map((update) => update.kind)).toEqual(["heartbeat"]);
  });
});

describe("many screen watchers", () => {
  it("share each look at the screen, except those that request other lines", async () => {
    const watchers = await Promise.all(Array.from({ length: 20 }, () => watcher(screenRequest)));
    const other = await watcher({ ...screenRequest, lines: 1 });
    await printOutput("one\r\ntwo");
    await clock.advance(300);
    for (const { sink } of watchers) expect(sink.sent).toMatchObject([{ kind: "change", output: "one\ntwo" }]);
    expect(other.sink.sent).toMatchObject([{ kind: "change", output: "two" }]);
    expect(encoded).toBe(2);
  });

  it("that do not read get the newest picture once they do", async () => {
    const slow = await watcher(screenRequest);
    slow.sink.backlog = WATCH_BACKLOG_BYTES;
    for (const text of ["a", "b", "c"]) {
      await printOutput(text);
      await clock.advance(200);
    }
    expect(slow.sink.sent).toEqual([]);
    slow.sink.drain();
    expect(slow.sink.sent).toMatchObject([{ kind: "change", output: "abc" }]);
  });

  it("get the last picture and the end", async () => {
    const one = await watcher(screenRequest);
    await printOutput("last words");
    end("the agent has ended");
    await clock.until(one.done);
    expect(one.sink.sent).toMatchObject([
      { kind: "change", output: "last words" },
      { kind: "end", output: "last words", endReason: "the agent has ended" },
    ]);
  });

  it("fail if the output can no longer be followed", async () => {
    const one = await watcher(screenRequest);
    const failed = expect(one.done).rejects.toThrow("no look");
    output.changed = () => Promise.reject(new Error("no look"));
    await clock.advance(2000);
    await failed;
  });
});
