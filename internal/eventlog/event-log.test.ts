import { describe, expect, it } from "vitest";
import { EventLog, type SeqReservation } from "./event-log.ts";

const kept = { keep: () => true };
const bounds = { maxEvents: 4, maxBytes: 100 };

function filled(count: number, options: { maxEvents: number; maxBytes: number; before?: SeqReservation } = bounds) {
  const log = new EventLog<string>(kept, options);
  for (let i = 1; i <= count; i++) log.append(`event ${i}`, 10);
  return log;
}

it("numbers events from 1 and holds the last ones", () => {
  const log = filled(10);
  expect([log.head, log.oldest, log.size, log.bytes]).toEqual([10n, 7n, 4, 40]);
  expect([log.get(6n), log.get(7n), log.get(10n), log.get(11n)]).toEqual([undefined, "event 7", "event 10", undefined]);
});

it("is bounded by bytes too, and always holds the newest event", () => {
  const log = filled(3, { maxEvents: 100, maxBytes: 25 });
  expect([log.oldest, log.bytes]).toEqual([2n, 20]);
  log.append("large", 1000);
  expect([log.oldest, log.get(4n)]).toEqual([4n, "large"]);
});

it("keeps its numbers over many evictions", () => {
  const log = filled(5000, { maxEvents: 7, maxBytes: 1_000_000 });
  expect([log.oldest, log.get(4994n), log.get(5000n)]).toEqual([4994n, "event 4994", "event 5000"]);
});

it("accepts nothing after it is closed", () => {
  const log = filled(1);
  log.close();
  expect([log.append("late", 1), log.head]).toEqual([undefined, 1n]);
});

describe("numbers", () => {
  it("are reserved before use, many at a time", () => {
    const reservations: bigint[] = [];
    const keep = ({ reservedTo }: SeqReservation) => reservations.push(reservedTo) > 0;
    const log = new EventLog<number>({ keep }, { maxEvents: 10, maxBytes: 1000 });
    for (let i = 0; i < 1000; i++) {
      log.append(i, 1);
      expect(log.head).toBeLessThanOrEqual(reservations.at(-1) ?? 0n);
    }
    expect(reservations.length).toBeLessThan(10);
  });

  it("skip one number after the last that an earlier process may have used", () => {
    const log = filled(1, { ...bounds, before: { epoch: "e", reservedTo: 256n } });
    expect([log.epoch, log.start, log.head, log.reservation]).toEqual([
      "e",
      258n,
      258n,
      { epoch: "e", reservedTo: 257n + 256n },
    ]);
  });

  it("belong to a new epoch if they could not be reserved at the start", () => {
    const log = new EventLog<number>({ keep: () => false }, { ...bounds, before: { epoch: "e", reservedTo: 9n } });
    expect(log.epoch).not.toBe("e");
    expect([log.append(1, 1), log.reservation]).toEqual([1n, undefined]);
  });

  it("start again in another epoch if no more can be reserved; held events get new numbers", () => {
    let works = true;
    const log = new EventLog<number>({ keep: () => works }, { maxEvents: 3, maxBytes: 1000 });
    const { epoch } = log;
    for (let i = 1; i <= 256; i++) log.append(i, 1);
    works = false;
    expect(log.append(257, 1)).toBe(4n);
    expect(log.epoch).not.toBe(epoch);
    expect([log.get(1n), log.get(2n), log.get(4n), log.reservation]).toEqual([undefined, 255, 257, undefined]);
    const unreserved = log.epoch;
    for (let i = 0; i < 300; i++) log.append(i, 1);
    expect(log.epoch).toBe(unreserved);
    works = true;
    for (let i = 0; i < 300; i++) log.append(i, 1);
    expect([log.epoch, log.reservation?.epoch]).toEqual([unreserved, unreserved]);
  });
});
