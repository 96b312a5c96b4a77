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

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }
}

it("reads no more of a peer that sends faster than its rate, until that is made up for; no frame is lost", async () => {
  const clock = new FakeClock();
  const socket = new ReadSocket();
  const place = { lane: { sessionId: "s", role: "r" }, agentId: "a" };
  const deps = { clock, logger: createLogger("test", "silent"), metrics: { slowReaders: { inc: () => {} } } };
  const rate = new FrameRates({ clock }).of(place);
  const channel = new WebSocketChannel(deps as never, socket as never as WebSocket, rate);
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
