import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import type { WebSocket } from "ws";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { answersPing } from "./answers-ping.ts";

function pinged() {
  const clock = new FakeClock();
  const socket = Object.assign(new EventEmitter(), { ping: () => {} });
  const answer = answersPing(socket as never as WebSocket, 1000, clock, new AbortController().signal);
  return { clock, socket, answer };
}

it("counts a pong that a delayed process reads a moment too late", async () => {
  const { clock, socket, answer } = pinged();
  await clock.advance(1000);
  await settle();
  socket.emit("pong");
  expect(await answer).toBe(true);
});

it("is false if no pong comes", async () => {
  const { clock, answer } = pinged();
  await clock.advance(2000);
  expect(await answer).toBe(false);
});
