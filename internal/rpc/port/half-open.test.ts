import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { HalfOpen } from "./half-open.ts";

function socket(remotePort: number, remoteAddress = "10.0.0.1") {
  return fakeSocket({ remoteAddress, remotePort });
}

function fakeSocket(ends: { readonly remoteAddress?: string; readonly remotePort?: number }) {
  const emitter = new EventEmitter();
  const cut = { value: false };
  const destroy = () => {
    cut.value = true;
    emitter.emit("close");
  };
  return {
    socket: Object.assign(emitter, { ...ends, destroy }) as unknown as Socket,
    cut,
  };
}

it("cuts the oldest if there is one too many, and reports it", () => {
  const told: string[] = [];
  const halfOpen = new HalfOpen(2, (what) => void told.push(what));
  const [a, b, c] = [socket(1), socket(2), socket(3)];
  for (const each of [a, b, c]) halfOpen.add(each.socket);
  expect([a.cut.value, b.cut.value, c.cut.value]).toEqual([true, false, false]);
  expect([told, halfOpen.size]).toEqual([["cut"], 2]);
});

it("cuts the oldest of the address that has the most, however old those of others are", () => {
  const halfOpen = new HalfOpen(3, () => {});
  const other = socket(1, "10.0.0.2");
  halfOpen.add(other.socket);
  const flood = Array.from({ length: 100 }, (_, i) => socket(i));
  for (const each of flood) halfOpen.add(each.socket);
  expect(other.cut.value).toBe(false);
  expect(flood.map(({ cut }) => cut.value)).toEqual([...Array(98).fill(true), false, false]);
  expect(halfOpen.size).toBe(3);
});

it("counts neither completed nor closed ones, and reports the latter", () => {
  const told: string[] = [];
  const halfOpen = new HalfOpen(2, (what) => void told.push(what));
  for (let port = 0; port < 100; port++) {
    const { socket: each } = socket(port);
    halfOpen.add(each);
    // TLS wraps the socket in another with the same addresses.
    if (port % 2 === 0) halfOpen.done(socket(port).socket);
    each.emit("close");
  }
  expect([halfOpen.size, told.length, new Set(told)]).toEqual([0, 50, new Set(["gone"])]);
});

it("distinguishes connections at a unix socket, which have neither address nor port", () => {
  const halfOpen = new HalfOpen(2, () => {});
  for (let i = 0; i < 100; i++) {
    const two = [fakeSocket({}), fakeSocket({})];
    for (const each of two) halfOpen.add(each.socket);
    for (const each of two) halfOpen.done(each.socket);
    expect(two.map(({ cut }) => cut.value)).toEqual([false, false]);
  }
  expect(halfOpen.size).toBe(0);
});
