import { expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import type { ChannelEnd } from "../links/channel-end.ts";
import { EventStreamChannel } from "./event-stream-channel.ts";
import { FrameRates } from "./frame-rates.ts";

function opened() {
  const clock = new FakeClock();
  const place = { lane: { sessionId: "s", role: "r" }, agentId: "a" };
  let slow = 0;
  const metrics = { slowReaders: { inc: () => slow++ } };
  const rate = new FrameRates({ clock }).of(place);
  const channel = new EventStreamChannel({ clock, metrics } as never, rate);
  const end = () => channel.ended.aborted && (({ code, why }: ChannelEnd) => [code, why])(channel.ended.reason);
  return { clock, channel, rate, end, slowReaders: () => slow };
}

/** Reads the stream to its end. */
async function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of body) text += Buffer.from(chunk).toString();
  return text;
}

it("delays a frame that exceeds the rate, and drops none", async () => {
  const { clock, channel } = opened();
  let frames = 0;
  channel.onFrame = () => frames++;
  const taken = Array.from({ length: 10_150 }, () => channel.came("x"));
  await settle();
  expect(frames).toBe(10_000);
  await clock.advance(149);
  expect(frames).toBeLessThan(10_150);
  await clock.advance(1);
  expect(new Set(await Promise.all(taken))).toEqual(new Set([true]));
  expect(frames).toBe(10_150);
  expect(clock.sleeping).toBe(0);
});

it("closes with 4429 when frames come faster than its rate for a minute", async () => {
  const { clock, channel, rate, end } = opened();
  // The rate is the agent's, over all its connections; these frames are those of another one.
  for (let i = 0; i < 10_000; i++) rate.count();
  for (let second = 0; second < 60; second++) {
    for (let i = 0; i < 1001; i++) rate.count();
    await clock.advance(1000);
  }
  expect([rate.isTooFast, end()]).toEqual([true, false]);
  expect(await channel.came("x")).toBe(false);
  expect(end()).toEqual([4429, "rate_limited"]);
  expect(await textOf(channel.body)).toBe(': open\n\nevent: close\ndata: {"code":4429,"reason":"rate_limited"}\n\n');
  await settle();
  expect(clock.sleeping).toBe(0);
});

it("stops reading an agent that leaves 4 MiB unread, and ends with 1013 after 20 seconds of that", async () => {
  const { clock, channel, end, slowReaders } = opened();
  let frames = 0;
  channel.onFrame = () => frames++;
  channel.send("x".repeat(4 * 1024 * 1024));
  expect([channel.isHeld, slowReaders()]).toEqual([true, 1]);
  const came = channel.came("x");
  await clock.advance(19_750);
  expect([end(), frames]).toEqual([false, 0]);
  await clock.advance(250);
  expect([end(), await came, frames]).toEqual([[1013, "does not read"], false, 0]);
  await expect(textOf(channel.body)).rejects.toThrow("does not read");
  expect(clock.sleeping).toBe(0);
});

it("continues when an agent reads again in time", async () => {
  const { clock, channel, end } = opened();
  let frames = 0;
  channel.onFrame = () => frames++;
  channel.send("x".repeat(4 * 1024 * 1024));
  const came = channel.came("x");
  await clock.advance(19_000);
  const reader = channel.body.getReader();
  for (let i = 0; i < 2; i++) await reader.read();
  await clock.advance(250);
  expect([end(), await came, frames, channel.isHeld]).toEqual([false, true, 1, false]);
  channel.close(1000, "bye");
});
