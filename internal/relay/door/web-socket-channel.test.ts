import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import type { WebSocket } from "ws";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { createLogger } from "../../base/logger.ts";
import { FrameRates } from "./frame-rates.ts";
import { WebSocketChannel } from "./web-socket-channel.ts";

/** The parts of a socket that a channel uses if it only reads. */
class ReadSocket extends EventEmitter {
  readonly bufferedAmount = 0;
  isPaused = false;
  closed: readonly [code: number, reason: string] | undefined;

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  close(code: number, reason: string): void {
    this.closed = [code, reason];
  }
}

function opened() {
  const clock = new FakeClock();
  const socket = new ReadSocket();
  const place = { lane: { sessionId: "s", role: "r" }, agentId: "a" };
  const deps = { clock, logger: createLogger("test", "silent"), metrics: { slowReaders: { inc: () => {} } } };
  const rate = new FrameRates({ clock }).of(place);
  const channel = new WebSocketChannel(deps as never, socket as never as WebSocket, rate);
  return { clock, socket, channel };
}

it("stops reading a peer that exceeds its rate until it is within the rate again; no frame is lost", async () => {
  const { clock, socket, channel } = opened();
  let frames = 0;
  channel.onFrame = () => frames++;
  for (let i = 0; i < 10_000; i++) socket.emit("message", Buffer.from("x"), false);
  expect([socket.isPaused, channel.isHeld]).toEqual([false, false]);
  for (let i = 0; i < 150; i++) socket.emit(i % 2 === 0 ? "message" : "ping", Buffer.from("x"), false);
  expect([frames, socket.isPaused, channel.isHeld]).toEqual([10_075, true, true]);
  await clock.advance(149);
  expect(socket.isPaused).toBe(true);
  await clock.advance(51);
  expect([socket.isPaused, channel.isHeld]).toEqual([false, false]);
});

it("closes with 4429 when the peer sends faster than its rate for a minute", async () => {
  const { clock, socket } = opened();
  for (let i = 0; i < 10_000; i++) socket.emit("message", Buffer.from("x"), false);
  for (let second = 0; second < 60 && socket.closed === undefined; second++) {
    for (let i = 0; i < 1001; i++) socket.emit("message", Buffer.from("x"), false);
    await clock.advance(1000);
  }
  expect(socket.closed).toBe(undefined);
  socket.emit("message", Buffer.from("x"), false);
  expect(socket.closed).toEqual([4429, "rate_limited"]);
});
