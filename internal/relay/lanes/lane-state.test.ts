import { describe, expect, it } from "vitest";
import type { Answered, LaneRecord } from "./lane-records.ts";
import { parseLaneRecord } from "./lane-records.ts";
import { emptyLane, foldLane, MAX_DONE, snapshotOf } from "./lane-state.ts";

/** Larger than any snapshot here, in bytes. */
const ROOM = 1_000_000;

const claimed = (generation: number): LaneRecord => ({
  ...{ t: "claimed", generation, instance: "i", connection: `c${generation}`, agent_id: "a", dialect: "seed" },
});
const prompted = (id: string): LaneRecord => ({
  ...{ t: "prompted", id, hash: `h-${id}`, work_seq: 1, attempt: 1, dialect: "seed" },
});
const answered = (id: string, fresh: boolean): Answered => ({
  ...{ t: "answered", id, hash: `h-${id}`, parts: [], results_after: 0, attempt: 1, agent_id: "a", dialect: "seed" },
  exchange: { user: [{ role: "user", content: id }], assistant: "ok" },
  fresh,
});
const done = (id: string): LaneRecord => ({ t: "done", id, hash: `h-${id}` });

describe("a lane", () => {
  it("is free, claimed by one generation after the other, and free again after the last release", () => {
    expect(foldLane([])).toEqual(emptyLane);
    expect(foldLane([claimed(1), claimed(2)]).holder).toMatchObject({ generation: 2, connection: "c2" });
    expect(foldLane([claimed(1), claimed(2), { t: "released", generation: 1 }]).holder?.generation).toBe(2);
    expect(foldLane([claimed(1), { t: "released", generation: 1 }])).toMatchObject({
      holder: undefined,
      generation: 1,
    });
  });

  it("remembers cancelled work until it is done, and an open turn across a snapshot", () => {
    const open = foldLane([claimed(1), prompted("1"), { t: "cancelled", id: "2", by: "ann" }]);
    expect([...open.cancelled]).toEqual([["2", "ann"]]);
    const after = foldLane([snapshotOf(open, ROOM)]);
    expect(after).toEqual({ ...open, records: 0 });
    expect(foldLane([snapshotOf(open, ROOM), done("2")]).cancelled.size).toBe(0);
  });

  it("keeps the state of an interrupted turn", () => {
    expect(foldLane([prompted("1")])).toMatchObject({ prompted: { id: "1" }, answered: undefined });
    expect(foldLane([prompted("1"), answered("1", true)])).toMatchObject({
      prompted: undefined,
      answered: { id: "1" },
    });
    const ended = foldLane([prompted("1"), answered("1", true), done("1")]);
    expect(ended).toMatchObject({ prompted: undefined, answered: undefined });
    expect([...ended.done]).toEqual([["1", "h-1"]]);
  });

  it("continues a conversation, or starts a new one", () => {
    const turn = (id: string, fresh: boolean) => [prompted(id), answered(id, fresh), done(id)];
    expect(foldLane([...turn("1", true), ...turn("2", false)]).exchanges).toHaveLength(2);
    expect(foldLane([...turn("1", true), ...turn("2", true)]).exchanges).toHaveLength(1);
  });

  it("remembers the agent's session across turns without one, and across a snapshot", () => {
    const state = foldLane([{ ...prompted("1"), agent_session: "s1" } as LaneRecord, done("1"), prompted("2")]);
    expect(state.agentSession).toBe("s1");
    expect(foldLane([snapshotOf(state, ROOM)]).agentSession).toBe("s1");
  });

  it("remembers only the latest ids", () => {
    const ids = Array.from({ length: MAX_DONE + 2 }, (_, i) => done(String(i)));
    const state = foldLane(ids);
    expect(state.done.size).toBe(MAX_DONE);
    expect(state.done.has("1")).toBe(false);
    expect(state.done.has("2")).toBe(true);
  });

  it("is the same after a snapshot, which replaces all earlier records", () => {
    const turn = [claimed(3), prompted("1"), answered("1", true), done("1")];
    const before = foldLane(turn);
    const read = parseLaneRecord(JSON.stringify(snapshotOf(before, ROOM)));
    expect(read).toBeDefined();
    expect(foldLane([...turn, read as LaneRecord])).toEqual({ ...before, records: 0 });
  });
});

it("a snapshot that would be too long drops the older ids, and finally the conversation", () => {
  const state = foldLane([claimed(3), answered("1", true), ...Array.from({ length: 64 }, (_, i) => done(String(i)))]);
  const length = (maxBytes: number) => JSON.stringify(snapshotOf(state, maxBytes)).length;
  const [whole, none] = [length(ROOM), length(0)];
  expect(none).toBeLessThan(whole / 4);
  for (const maxBytes of [whole, whole - 1, whole / 2]) expect(length(maxBytes)).toBeLessThanOrEqual(maxBytes);
  const kept = foldLane([snapshotOf(state, whole / 2)]).done;
  expect([kept.has("63"), kept.has("0")]).toEqual([true, false]);
});

it("skips records of a later version", () => {
  expect(parseLaneRecord('{"t":"something new"}')).toBeUndefined();
  expect(parseLaneRecord("{")).toBeUndefined();
});
