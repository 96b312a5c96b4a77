import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../test/support/fake-clock.ts";
import { DEFAULT_REDACT_PATTERNS, Redactor } from "../base/redact.ts";
import { OutputText } from "./output-text.ts";

let clock: FakeClock;
let events: string[];
let output: OutputText;
let stop: AbortController;
let running: Promise<void>;
beforeEach(() => {
  clock = new FakeClock();
  events = [];
  output = new OutputText({
    clock,
    redactor: new Redactor(DEFAULT_REDACT_PATTERNS),
    emit: (text) => events.push(text),
  });
  stop = new AbortController();
  running = output.run(stop.signal);
});
afterEach(async () => {
  stop.abort(new Error("stop"));
  await running;
  expect(clock.sleeping).toBe(0);
});

describe("text", () => {
  it("is passed on as one event after a pause", async () => {
    output.push("a\n");
    await clock.advance(60);
    output.push("b\n");
    await clock.advance(60);
    expect(events).toEqual([]);
    await clock.advance(60);
    expect(events).toEqual(["a\nb\n"]);
  });

  it("does not wait forever while more arrives", async () => {
    for (let i = 0; i < 20; i++) {
      output.push(`${i}\n`);
      await clock.advance(50);
    }
    expect(events).toHaveLength(2);
    expect(events.join("")).toMatch(/^0\n1\n/);
  });

  it("is split into events of bounded size, after whole lines if there are any", async () => {
    const lines = Array.from({ length: 3000 }, (_, i) => `line ${i}\n`).join("");
    output.push(lines);
    output.push("x".repeat(30_000));
    output.flush();
    expect(events.join("")).toBe(lines + "x".repeat(30_000));
    expect(Math.max(...events.map((text) => text.length))).toBeLessThanOrEqual(8192);
    expect(events[0]).toMatch(/\n$/);
  });

  it("is passed on at once if something else must follow it", () => {
    output.push("before\n");
    output.flush();
    expect(events).toEqual(["before\n"]);
    output.flush();
    expect(events).toHaveLength(1);
  });

  it("is passed on when it ends", async () => {
    output.push("last words\n");
    stop.abort(new Error("stop"));
    await running;
    expect(events).toEqual(["last words\n"]);
  });

  it("contains no secret, wherever it is split, and no control characters", async () => {
    output.push("the passw");
    await clock.advance(30);
    output.push("ord: hun");
    await settle();
    output.push("ter2\nnext\x9b31m\u202e\n");
    await clock.advance(1000);
    expect(events).toEqual(["the [redacted]\nnext\n"]);
  });

  it("is complete after a flood", () => {
    let sent = "";
    for (let i = 0; i < 3000; i++) {
      const text = i % 500 === 0 ? `token = s${i}cret\n` : `${i} the quick brown fox\n`.repeat(1 + (i % 7));
      sent += text;
      output.push(text);
    }
    output.flush();
    expect(events.join("")).toBe(sent.replaceAll(/token = s\d+cret/g, "[redacted]"));
  });
});
