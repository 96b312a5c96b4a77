import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { HalfOpen } from "./half-open.ts";

function socket(remotePort: number) {
  const emitter = new EventEmitter();
  const cut = { value: false };
  const destroy = () => {
    cut.value = true;
    emitter.emit("close");
  };
  return {
    socket: Object.assign(emitter, { remoteAddress: "10.0.0.1", remotePort, destroy }) as unknown as Socket,
    cut,
  };
}

it("cuts the oldest when there is one too many, and tells", () => {
  const told: string[] = [];
  const halfOpen = new HalfOpen(2, (what) => void told.push(what));
  const [a, b, c] = [socket(1), socket(2), socket(3)];
  for (const each of [a, b, c]) halfOpen.add(each.socket);
  expect([a.cut.value, b.cut.value, c.cut.value]).toEqual([true, false, false]);
  expect([told, halfOpen.size]).toEqual([["cut"], 2]);
});

it("counts neither those that are done nor those that have gone, and tells of the latter", () => {
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
