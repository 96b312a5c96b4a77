import { expect, it } from "vitest";
import { aborted } from "../../internal/base/abort.ts";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { Acks } from "./acks.ts";

function newAcks(send: (signal: AbortSignal) => Promise<void> = async () => {}) {
  const clock = new FakeClock();
  const sent: bigint[] = [];
  const acks = new Acks({
    clock,
    send: ({ seq }, signal) => {
      sent.push(seq);
      return send(signal);
    },
  });
  const handle = (from: number, to = from) => {
    for (let seq = from; seq <= to; seq++) acks.handled({ epoch: "e", seq: BigInt(seq) });
  };
  return { clock, sent, acks, handle };
}

it("sends the last position of a batch, a moment after its first event", async () => {
  const { clock, sent, handle } = newAcks();
  handle(1, 3);
  await clock.advance(200);
  handle(4);
  expect(sent).toEqual([]);
  await clock.advance(50);
  expect(sent).toEqual([4n]);
  await clock.advance(10_000);
  expect(sent).toEqual([4n]);
});

it("sends at once after a hundred events", async () => {
  const { clock, sent, handle } = newAcks();
  handle(1, 100);
  await clock.advance(0);
  expect(sent).toEqual([100n]);
});

it("sends the rest when it is flushed, and continues after a failure", async () => {
  const { clock, sent, acks, handle } = newAcks(() => Promise.reject(new Error("away")));
  handle(1);
  await clock.advance(250);
  handle(2);
  await acks.flush();
  expect(sent).toEqual([1n, 2n]);
});

it("stops after two seconds if the bridge does not answer", async () => {
  const { clock, acks, handle, sent } = newAcks(aborted);
  handle(1);
  const left = acks.flush().then(() => "left");
  await clock.advance(2000);
  expect(await Promise.race([left, Promise.resolve("waits")])).toBe("left");
  expect(sent).toEqual([1n]);
});

it("does not acknowledge events that were made by the client", async () => {
  const { clock, sent, handle } = newAcks();
  handle(0);
  await clock.advance(1000);
  expect(sent).toEqual([]);
});
