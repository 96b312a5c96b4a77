import { expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import type { Bus } from "./bus.ts";
import { LossyPublisher } from "./lossy-publisher.ts";
import { Outbox } from "./outbox.ts";

function open(maxBytes: number) {
  const outbox = new Outbox({ bus: {} as Bus, clock: new FakeClock(), logger: silentLogger }, maxBytes);
  const full: boolean[] = [];
  outbox.changes.listen(() => full.push(outbox.isFull));
  return { outbox, full };
}

const message = (bytes: number) => ({ subject: "s", body: "x".repeat(bytes - 1) });

it("takes messages until the next would exceed its bound", () => {
  const { outbox } = open(100);
  expect([outbox.offer(message(60)), outbox.offer(message(41)), outbox.offer(message(39))]).toEqual([
    true,
    false,
    true,
  ]);
  expect([outbox.messages, outbox.bytes, outbox.isFull]).toEqual([2, 99, false]);
});

it("always has room for answers, and is full from its bound on until half of it is free", () => {
  const { outbox, full } = open(100);
  const first = outbox.hold(90);
  expect(outbox.isFull).toBe(false);
  const second = outbox.hold(500);
  expect([outbox.isFull, outbox.offer(message(1))]).toEqual([true, false]);
  second();
  second();
  expect([outbox.bytes, outbox.isFull]).toEqual([90, true]);
  first();
  expect([outbox.bytes, outbox.isFull, outbox.offer(message(100))]).toEqual([0, false, true]);
  expect(full).toEqual([true, false, true]);
});

it("what may be lost is dropped while the outbox is full, NATS is away, or does not confirm what it has", async () => {
  const confirmed: (() => void)[] = [];
  const sent: string[] = [];
  const nc = {
    publish: (_subject: string, body: string) => void sent.push(body),
    flush: () => new Promise<void>((resolve) => confirmed.push(resolve)),
  };
  const bus = { isConnected: true, maxPayload: 8, nc };
  const outbox = { isFull: false };
  const lossy = new LossyPublisher(bus as unknown as Bus, outbox, 10);
  expect(["12345678", "123456789", "12", "3"].map((body) => lossy.publish("s", body))).toEqual([
    ...[true, false, true, false],
  ]);
  confirmed.shift()?.();
  await Promise.resolve();
  await Promise.resolve();
  expect(lossy.publish("s", "4")).toBe(true);
  outbox.isFull = true;
  expect(lossy.publish("s", "5")).toBe(false);
  outbox.isFull = false;
  bus.isConnected = false;
  expect(lossy.publish("s", "6")).toBe(false);
  expect(sent).toEqual(["12345678", "12", "4"]);
});
