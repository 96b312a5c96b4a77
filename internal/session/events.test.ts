import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../test/support/fake-clock.ts";
import { machineTime } from "../../test/support/machine-time.ts";
import { Redactor } from "../base/redact.ts";
import { type EventRecord, restoreEvents } from "./event-records.ts";
import { SessionEvents } from "./events.ts";
import { hashOf } from "./nudge-record.ts";

const OPTIONS = { eventBuffer: 100, eventBytes: 1_000_000 };
const never = new AbortController().signal;

let clock: FakeClock;
let journal: EventRecord[];
beforeEach(() => {
  clock = new FakeClock();
  journal = [];
});

function make(keep = (record: EventRecord) => journal.push(record) > 0): SessionEvents {
  const redactor = new Redactor(["hunter\\d+"]);
  return new SessionEvents({ clock, time: machineTime(clock), redactor, keep }, OPTIONS, restoreEvents(journal));
}

async function all(events: SessionEvents, request: { after?: bigint; subscriber?: string; epoch?: string } = {}) {
  const found = [];
  const followed = events.follow({ subscriber: "", owner: "", epoch: "", ...request }, never);
  for (;;) {
    const next = await Promise.race([followed.next(), settle().then(() => undefined)]);
    if (next === undefined || next.done) return found;
    found.push(next.value);
  }
}

const kinds = (found: Awaited<ReturnType<typeof all>>) =>
  found.map((each) => (each.type === "missing" ? `missing ${each.missing.reason}` : each.event.type));

describe("the log of a session", () => {
  it("contains the terminal's text before any later event", async () => {
    const events = make();
    events.started();
    events.print("a line\n");
    events.phase("idle", 5);
    events.print("another\n");
    events.flush();
    expect(kinds(await all(events))).toEqual(["session-started", "stdout", "phase-changed", "stdout"]);
  });

  it("separates the two streams of a program, and redacts a secret that a stream delivers in two pieces", async () => {
    const events = make();
    events.print("out hunt");
    events.print("err hunt", "stderr");
    events.print("er12\n");
    events.print("er34\n", "stderr");
    events.flush();
    const texts = (await all(events)).map((each) => each.type === "event" && "text" in each.event && each.event);
    expect(texts).toMatchObject([
      { type: "stdout", text: "out [redacted]\n" },
      { type: "stderr", text: "err [redacted]\n" },
    ]);
  });

  it("contains no secrets, in any kind of text", async () => {
    const events = make();
    const secret = "is hunter2\x1b[31m";
    const choices = [{ key: "1", label: secret, selected: true }];
    events.print(`${secret}\n`);
    events.dialog("dialog-opened", { id: "d", kind: "other", title: secret, text: secret, choices, since: 0 });
    const nudge = {
      requestId: "r",
      messageHash: hashOf(secret),
      message: secret,
      text: "",
      mode: "queue",
      priority: "normal",
      sender: "s",
    } as const;
    events.accepted({ ...nudge, acceptedAt: 1 });
    const receipt = {
      requestId: "r",
      outcome: "unknown",
      sender: "s",
      queuePosition: 0,
      evidence: [],
      timings: {},
    } as const;
    events.receipt({ ...receipt, error: secret });
    events.stopped({ done: true, error: secret });
    const found = await all(events);
    expect(found).toHaveLength(5);
    const text = JSON.stringify(found, (_, value) => (typeof value === "bigint" ? Number(value) : value));
    expect(text.match(/is \[redacted\]"|is \[redacted\]\\n/g)).toHaveLength(7);
    expect(text).not.toMatch(/hunter|\\u001b/);
  });

  it("accepts nothing after the last event, and ends its readers' streams", async () => {
    const events = make();
    events.stopped({ done: true });
    events.phase("dead", 0);
    expect(kinds(await all(events))).toEqual(["session-stopped"]);
    expect(events.isOver).toBe(true);
  });

  it("reports lost output once, until lines arrive again", async () => {
    const events = make();
    events.lost("truncated", "much");
    events.lost("truncated", "more");
    events.print("a\n");
    events.lost("truncated", "again");
    expect(kinds(await all(events))).toEqual(["output-lost", "stdout", "output-lost"]);
  });

  it("sends its readers the remaining events when the process ends, and then the reason", async () => {
    const events = make();
    events.print("last\n");
    events.end("shutting down");
    const followed = events.follow({ subscriber: "", owner: "", epoch: "" }, never);
    expect((await followed.next()).value).toMatchObject({ event: { type: "stdout" } });
    await expect(followed.next()).rejects.toMatchObject({ kind: "unavailable", message: "shutting down" });
  });
});

describe("a subscriber", () => {
  it.each([2, -2])(
    "keeps its position when the wall clock jumps by %i days, in this process and in the next",
    async (days) => {
      const events = make();
      for (let i = 0; i < 3; i++) events.started();
      events.acknowledge({ owner: "", subscriber: "a" }, 2n, events.epoch);
      clock.jump(days * 86_400_000);
      expect((await all(events, { subscriber: "a" })).map(({ seq }) => seq)).toEqual([3n]);
      journal = [...events.records()];
      clock.jump(days * 86_400_000);
      const [gap] = await all(make(), { subscriber: "a" });
      expect(gap).toMatchObject({ type: "missing", missing: { first: 3n } });
    },
  );

  it("continues after its acknowledged position, in this process and in the next", async () => {
    const events = make();
    for (let i = 0; i < 5; i++) events.phase("busy", i);
    events.acknowledge({ owner: "", subscriber: "a" }, 3n, events.epoch);
    expect((await all(events, { subscriber: "a" })).map(({ seq }) => seq)).toEqual([4n, 5n]);
    expect(await all(events, { subscriber: "b" })).toHaveLength(5);
    const next = make();
    expect(next.epoch).toBe(events.epoch);
    next.phase("idle", 9);
    const [gap, event] = await all(next, { subscriber: "a" });
    expect(gap).toMatchObject({ type: "missing", missing: { first: 4n, reason: "restart" } });
    expect(event?.seq).toBe((gap?.seq ?? 0n) + 1n);
  });

  it("that reports no progress writes nothing to the journal", () => {
    const events = make();
    events.phase("busy", 1);
    events.acknowledge({ owner: "", subscriber: "a" }, 1n, events.epoch);
    const { length } = journal;
    events.acknowledge({ owner: "", subscriber: "a" }, 1n, events.epoch);
    events.acknowledge({ owner: "", subscriber: "a" }, 0n, events.epoch);
    expect(journal).toHaveLength(length);
  });

  it.each([
    ["", 1n, undefined, "invalid"],
    ["a b", 1n, undefined, "invalid"],
    ["a\n", 1n, undefined, "invalid"],
    ["ü".repeat(65), 1n, undefined, "invalid"],
    ["a", 1n, "", "invalid"],
    ["a", 1n, "other", "precondition"],
    ["a", 2n, undefined, "precondition"],
  ])("may not acknowledge as %j number %s of the epoch %s", (subscriber, seq, epoch, kind) => {
    const events = make();
    events.phase("busy", 1);
    expect(() => events.acknowledge({ owner: "", subscriber }, seq, epoch ?? events.epoch)).toThrow(
      expect.objectContaining({ kind }),
    );
  });

  it("starts over in a new epoch if no numbers could be reserved", async () => {
    let works = true;
    const events = make((record) => works && journal.push(record) > 0);
    for (let i = 0; i < 256; i++) events.phase("busy", i);
    events.acknowledge({ owner: "", subscriber: "a" }, 200n, events.epoch);
    const { epoch } = events;
    works = false;
    events.phase("idle", 1);
    expect(events.epoch).not.toBe(epoch);
    expect(events.records()).toEqual([]);
    const [first] = await all(events, { subscriber: "a" });
    expect(first?.epoch).toBe(events.epoch);
    expect(first?.seq).toBeLessThan(200n);
  });
});

it("the log of a session can be restored from its records", async () => {
  const events = make();
  events.phase("busy", 1);
  events.acknowledge({ owner: "", subscriber: "a" }, 1n, events.epoch);
  journal = [...events.records()];
  const next = make();
  next.phase("idle", 2);
  expect(kinds(await all(next, { subscriber: "a" }))).toEqual(["missing restart", "phase-changed"]);
});
