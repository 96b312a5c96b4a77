import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { EventType, SessionEventSchema } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { EventPosition } from "./event-position.ts";

const newPosition = (afterSeq?: bigint, epoch = "") =>
  new EventPosition({ sessionId: "s", subscriberId: "r", afterSeq, epoch });
const event = (seq: number, epoch = "e", type: EventType = EventType.STDOUT) =>
  create(SessionEventSchema, { sessionId: "s", seq: BigInt(seq), epoch, type });
const taken = (position: EventPosition, ...events: ReturnType<typeof event>[]) =>
  events.flatMap((one) => position.take(one).map(({ seq }) => Number(seq)));

it("requests the acknowledged position first, then the position after the last event", () => {
  const position = newPosition();
  expect(position.request()).toEqual({ sessionId: "s", subscriberId: "r", epoch: "" });
  position.take(event(4));
  expect(position.request()).toEqual({ sessionId: "s", subscriberId: "r", epoch: "e", afterSeq: 4n });
});

it("skips events of its epoch that were already delivered, and reports what another epoch has lost", () => {
  const position = newPosition();
  expect(taken(position, event(1), event(2), event(1), event(2), event(3))).toEqual([1, 2, 3]);
  expect(taken(position, event(1, "f"), event(2, "f"))).toEqual([0, 1, 2]);
  expect(taken(position, event(3, "g"))).toEqual([0, 2, 3]);
});

it("starts anywhere, and reports missing events later", () => {
  const position = newPosition();
  position.take(event(7));
  const [gap, next] = position.take(event(10));
  expect(gap).toMatchObject({
    ...{ type: EventType.BUFFER_OVERFLOW, seq: 9n, epoch: "e", sessionId: "s" },
    gap: { first: 8n, to: 10n },
  });
  expect(next?.seq).toBe(10n);
});

it("accepts no event of another session", () => {
  const other = create(SessionEventSchema, { sessionId: "t", seq: 1n, epoch: "e" });
  expect(() => newPosition().take(other)).toThrow("an event of another session: t");
});

it("passes on the bridge's own gap", () => {
  const position = newPosition(2n, "e");
  expect(taken(position, event(6, "e", EventType.BUFFER_OVERFLOW), event(7))).toEqual([6, 7]);
});

it("reports the events lost with an epoch, and requests the new one from its beginning", () => {
  const position = newPosition(5n, "e");
  expect(position.beginAgain("f")).toMatchObject({ seq: 0n, epoch: "f", gap: { first: 6n, to: 0n } });
  expect(position.request()).toMatchObject({ afterSeq: 0n, epoch: "f" });
  expect(taken(position, event(1, "f"))).toEqual([1]);
});
