import { expect, it } from "vitest";
import { inputKeyOf, readEventPlace, readSession, sessionIdOf, writePlace, writeSession } from "./bridge-names.ts";

const lane = { sessionId: "s1", role: "coding" };

it("names a lane's sessions by UUIDs of version 5, the same ones at every relay", () => {
  const ids = [1, 2].map((count) => sessionIdOf(lane, count));
  expect(ids).toEqual(["bbefa6b3-1e31-5e89-b194-0fd520b58f1f", "02e8f868-748e-55ad-a584-7b223879a15a"]);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(sessionIdOf({ sessionId: "s1", role: "review" }, 1)).not.toBe(ids[0]);
});

it("names each attempt at a piece of work by a key that bridges accept", () => {
  const keys = [
    inputKeyOf(lane, "w1", 1),
    inputKeyOf(lane, "w1", 2),
    inputKeyOf(lane, "w2", 1),
    inputKeyOf({ ...lane, role: "review" }, "w1", 1),
  ];
  expect(new Set(keys).size).toBe(4);
  for (const key of keys) expect(key).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
});

it("reads what it wrote to the log, and no other text", () => {
  const session = { count: 12, id: sessionIdOf(lane, 12) };
  expect(readSession(writeSession(session))).toEqual(session);
  const place = { epoch: "e/1", seq: 40, phase: "crash-loop" } as const;
  expect(readEventPlace(writePlace(place))).toEqual(place);
  for (const text of [undefined, "", "s-1", "0/abc", "1/", "x/y/z"]) {
    expect([readSession(text), readEventPlace(text)]).toEqual([undefined, undefined]);
  }
});
