import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { HandshakeTurns } from "./handshake-turns.ts";

let clock: FakeClock;
let turns: HandshakeTurns;
let begun: string[];

beforeEach(() => {
  clock = new FakeClock();
  turns = new HandshakeTurns(clock, { handshakesPerSecond: 10, handshakeBurst: 2 });
  begun = [];
});
afterEach(async () => {
  turns.close();
  await settle();
  expect(clock.sleeping).toBe(0);
});

/** A connection from `address` that wants to begin. */
function come(name: string, address: string): Socket {
  const emitter = new EventEmitter();
  const destroy = () => emitter.emit("close");
  const socket = Object.assign(emitter, { remoteAddress: address, destroy }) as unknown as Socket;
  turns.add(socket, () => begun.push(name));
  return socket;
}

it("starts a burst at once, and then a number per second", async () => {
  for (let i = 1; i <= 5; i++) come(`${i}`, `10.0.0.${i}`);
  expect(begun).toEqual(["1", "2"]);
  await clock.advance(99);
  expect(begun).toEqual(["1", "2"]);
  await clock.advance(201);
  expect(begun).toEqual(["1", "2", "3", "4", "5"]);
});

it("allows the same burst again after a quiet time, and no more", async () => {
  for (let i = 0; i < 2; i++) come("first", "a");
  await clock.advance(60_000);
  for (let i = 0; i < 3; i++) come("then", "a");
  expect(begun).toEqual(["first", "first", "then", "then"]);
});

it("gives each address its turn, and within an address the newest", async () => {
  for (let i = 1; i <= 6; i++) come(`flood ${i}`, "a");
  come("b1", "b");
  come("b2", "b");
  await clock.advance(500);
  expect(begun.slice(2)).toEqual(["flood 6", "b2", "flood 5", "b1", "flood 4"]);
});

it("prefers a newcomer to the address that has just had its turn", async () => {
  for (let i = 1; i <= 6; i++) come(`flood ${i}`, "a");
  await clock.advance(150);
  come("b", "b");
  await clock.advance(100);
  expect(begun.slice(2)).toEqual(["flood 6", "b"]);
});

it("skips connections that have closed", async () => {
  for (let i = 1; i <= 3; i++) come(`${i}`, "a");
  const gone = [come("4", "a"), come("5", "b")];
  for (const socket of gone) socket.destroy();
  await clock.advance(100);
  expect(begun).toEqual(["1", "2", "3"]);
  await clock.advance(1000);
  expect([begun.length, clock.sleeping]).toEqual([3, 0]);
});

it("cuts waiting connections when it closes", async () => {
  for (let i = 1; i <= 2; i++) come(`${i}`, "a");
  const waiting = come("3", "a");
  const cut = new Promise((resolve) => waiting.once("close", resolve));
  turns.close();
  await cut;
  await clock.advance(1000);
  expect(begun).toEqual(["1", "2"]);
});
