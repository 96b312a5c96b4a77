import { expect, it } from "vitest";
import { ackFacts } from "./stream-reader.ts";
import { consumerName, consumerPrefix, covers, isReserved, laneOfSubject, messageId } from "./subjects.ts";

const LANE = { sessionId: "sess_123", role: "coding" };

it("names a lane's consumers so that no two lanes share one", () => {
  expect(consumerName(LANE, 7)).toMatch(/^L-[0-9a-f]{16}-7$/);
  expect(consumerPrefix({ sessionId: "a", role: "bc" })).not.toBe(consumerPrefix({ sessionId: "ab", role: "c" }));
});

it("reads the lane of a session's subject, and none from any other subject", () => {
  expect(laneOfSubject("sessions.sess_123.work.coding")).toEqual(LANE);
  for (const subject of ["sessions.*.work.coding", "sessions.a.work", "other.a.work.b", "sessions.a.work.b.c"])
    expect(laneOfSubject(subject)).toBeUndefined();
});

it("creates message ids that a header can hold", () => {
  expect(messageId(LANE, "msg_123", 1)).toBe("sess_123/coding/msg_123/1");
  expect(messageId(LANE, "a b%\r\nö")).toBe("sess_123/coding/a%20b%25%0D%0A%C3%B6");
});

it("reads a delivery's metadata from the subject formats of old and new servers", () => {
  const facts = { deliveries: 2, seq: 41, storedAt: 1_700_000_000_000 };
  expect(ackFacts("$JS.ACK.RELAY_WORK.L-1.2.41.5.1700000000000000000.0")).toEqual(facts);
  expect(ackFacts("$JS.ACK._.hash.RELAY_WORK.L-1.2.41.5.1700000000000000000.0.tok")).toEqual(facts);
  expect(ackFacts("_INBOX.x")).toBeUndefined();
});

it("knows which subjects a pattern matches, and which are reserved", () => {
  const covered = ["a.b", "a.c", "a", "a.b.c", "b.a"].filter((subject) => covers("a.*", subject));
  expect(covered).toEqual(["a.b", "a.c"]);
  const reserved = ["sessions.b.results.r", "relay.ctl", "relay", "$JS.API.INFO", "$SYS", "_INBOX.x", "relays.x", ""];
  expect(reserved.filter(isReserved)).toEqual(reserved.slice(0, 5));
});
