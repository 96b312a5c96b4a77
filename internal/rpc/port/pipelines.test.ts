import { EventEmitter } from "node:events";
import { Socket } from "node:net";
import { expect, it } from "vitest";
import { Pipelines } from "./pipelines.ts";

const MAX_UNANSWERED = 8;

it("cuts a connection with more requests than may wait for their answers, and accepts no more from it", () => {
  const pipelines = new Pipelines();
  const socket = new Socket();
  const answers = Array.from({ length: MAX_UNANSWERED }, () => new EventEmitter());
  for (const answer of answers) expect(pipelines.admit(socket, answer)).toBe(true);
  for (let i = 0; i < 100; i++) answers[0]?.emit("close"); // counts once
  expect(pipelines.admit(socket, new EventEmitter())).toBe(true);
  expect(socket.destroyed).toBe(false);
  expect(pipelines.admit(socket, new EventEmitter())).toBe(false);
  expect(socket.destroyed).toBe(true);
  answers[1]?.emit("close");
  expect(pipelines.admit(socket, new EventEmitter())).toBe(false);
});

it("counts each connection separately", () => {
  const pipelines = new Pipelines();
  const [one, other] = [new Socket(), new Socket()];
  for (let i = 0; i <= MAX_UNANSWERED; i++) pipelines.admit(one, new EventEmitter());
  expect(one.destroyed).toBe(true);
  expect(pipelines.admit(other, new EventEmitter())).toBe(true);
});
