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

it("accepts messages until the next would exceed its limit", () => {
  const { outbox } = open(100);
  expect([outbox.offer(message(60)), outbox.offer(message(41)), outbox.offer(message(39))]).toEqual([
    true,
    false,
    true,
  ]);
  expect([outbox.messages, outbox.bytes, outbox.isFull]).toEqual([2, 99, false]);
});

it("always has room for answers, and is full from its limit until half of it is free", () => {
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

/** A publisher within `maxBytes`, and what it has sent. */
function lossyPublisher(maxBytes: number) {
  const flushes: (() => void)[] = [];
  const sent: string[] = [];
  const nc = {
    publish: (_subject: string, body: string) => void sent.push(body),
    flush: () => new Promise<void>((resolve) => flushes.push(resolve)),
  };
  const bus = { isConnected: true, maxPayload: 8, nc };
  const outbox = { isFull: false };
  const lossy = new LossyPublisher(bus as unknown as Bus, outbox, maxBytes);
  /** The server confirms what it has been sent. */
  const confirm = async () => {
    flushes.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { lossy, bus, outbox, sent, confirm };
}

it("droppable messages are dropped while the outbox is full, NATS is away, or does not confirm messages", async () => {
  const { lossy, bus, outbox, sent, confirm } = lossyPublisher(10);
  expect(["12345678", "123456789", "12", "3"].map((body) => lossy.publish("s", body))).toEqual([
    ...[true, false, true, false],
  ]);
  outbox.isFull = true;
  await confirm();
  outbox.isFull = false;
  expect(lossy.publish("s", "4")).toBe(true);
  outbox.isFull = true;
  expect(lossy.publish("s", "5")).toBe(false);
  outbox.isFull = false;
  bus.isConnected = false;
  expect(lossy.publish("s", "6")).toBe(false);
  expect(sent).toEqual(["12345678", "12", "4"]);
});

it("the newest message of each subject without room is sent later, within the limit", async () => {
  const { lossy, sent, confirm } = lossyPublisher(10);
  lossy.publish("s", "12345678");
  expect(["s2a", "s2b", "s3"].map((body) => lossy.publish("s", body))).toEqual([false, false, false]);
  expect(["t1", "t2t2"].map((body) => lossy.publish("t", body))).toEqual([true, false]);
  lossy.publish("u", "u1u1u"); // more than may wait
  expect(sent).toEqual(["12345678", "t1"]);
  await confirm();
  expect(lossy.publish("u", "u2")).toBe(true);
  expect(sent).toEqual(["12345678", "t1", "s3", "t2t2", "u2"]);
});
