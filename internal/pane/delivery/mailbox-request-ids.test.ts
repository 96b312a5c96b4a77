import { describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { machineTime } from "../../../test/support/machine-time.ts";
import { DAY_MS, live, nudgeLeft, office, open, useOffice } from "../../../test/support/pane/mailbox-bed.ts";
import { recordsOf, restoreNudges } from "../../session/nudge-record.ts";
import { RECEIPT_KEEP, RECEIPT_KEEP_MS } from "./nudge-book.ts";

useOffice();

describe("the same request id", () => {
  it("with the same message returns the same receipt and types nothing", async () => {
    const first = await office.sent("hello", { requestId: "r" });
    expect(await office.sent("hello", { requestId: "r" })).toEqual(first);
    expect(office.typed).toEqual(["hello"]);
  });

  it("sent twice at once is one message", async () => {
    office.become({ state: "busy" });
    const both = [office.send("hello", { requestId: "r" }), office.send("hello", { requestId: "r" })];
    await settle();
    office.become({ state: "idle" });
    const [first, second] = await office.clock.until(Promise.all(both));
    expect(second).toEqual(first);
    expect(office.typed).toEqual(["hello"]);
  });

  it.each([2 * DAY_MS, -2 * DAY_MS])(
    "is recognised after the wall clock jumps by %i ms, here and after a restart",
    async (ms) => {
      await office.sent("hello", { requestId: "r" });
      office.clock.jump(ms);
      expect((await office.sent("hello", { requestId: "r" })).outcome).toBe("submitted");
      await office.sent("makes room", { requestId: "s" });
      const { clock, records } = office;
      await office.close();
      open(restoreNudges(records, machineTime(clock), RECEIPT_KEEP_MS, RECEIPT_KEEP));
      office.clock.jump(ms);
      expect((await office.sent("hello", { requestId: "r" })).outcome).toBe("submitted");
      expect(office.typed).toEqual([]);
    },
  );

  it("is forgotten after 24 hours, however the wall clock is set", async () => {
    await office.sent("hello", { requestId: "r" });
    office.clock.jump(-DAY_MS);
    await office.clock.advance(DAY_MS);
    expect(() => office.mailbox.get("r")).toThrow("no message");
  });

  it("with another message is refused", async () => {
    await office.sent("hello", { requestId: "r" });
    await expect(office.send("other", { requestId: "r" })).rejects.toMatchObject({ kind: "already-exists" });
  });

  it("is recognised from the journal, which keeps a hash in place of the text", async () => {
    office.become({ state: "dialog" });
    const text = "x".repeat(60_000);
    await office.sent(text, { requestId: "r" });
    const records = recordsOf(office.mailbox.snapshot());
    expect(JSON.stringify(records).length).toBeLessThan(1000);
    await office.close();
    open(restoreNudges(records, machineTime(office.clock), RECEIPT_KEEP_MS, RECEIPT_KEEP));
    expect((await office.sent(text, { requestId: "r" })).outcome).toBe("blocked-by-dialog");
    await expect(office.send(`${text}y`, { requestId: "r" })).rejects.toMatchObject({ kind: "already-exists" });
  });

  it("of a refused message does not type it later", async () => {
    office.become({ state: "dialog" });
    await office.sent("hello", { requestId: "r" });
    office.become({ state: "idle" });
    expect((await office.sent("hello", { requestId: "r" })).outcome).toBe("blocked-by-dialog");
    expect(office.typed).toEqual([]);
  });
});

describe("receipts are forgotten", () => {
  it("after 24 hours, and the id can be used again", async () => {
    await office.sent("hello", { requestId: "r" });
    await office.clock.advance(RECEIPT_KEEP_MS - 20);
    expect(office.mailbox.get("r").outcome).toBe("submitted");
    await office.clock.advance(40);
    expect(() => office.mailbox.get("r")).toThrow(expect.objectContaining({ kind: "not-found" }));
    expect((await office.sent("other", { requestId: "r" })).outcome).toBe("submitted");
    expect(office.typed).toEqual(["hello", "other"]);
  });

  it("if there are more than 10,000, the oldest first, and never that of a waiting message", async () => {
    await office.close();
    const at = new FakeClock().now();
    const left = Array.from({ length: RECEIPT_KEEP.total - 1 }, (_, i) => nudgeLeft(`old-${i}`, false, { at }));
    open([nudgeLeft("open", false), ...left]);
    office.become({ state: "busy" });
    expect(office.mailbox.get("old-0").outcome).toBe("submitted");
    await office.sent("one more", { mode: "queue" });
    expect(() => office.mailbox.get("old-0")).toThrow(expect.objectContaining({ kind: "not-found" }));
    expect(office.mailbox.get("old-1").outcome).toBe("submitted");
    expect(office.mailbox.get("open").outcome).toBe("queued");
    expect(office.mailbox.snapshot()).toHaveLength(RECEIPT_KEEP.total);
  });
});

describe("distinct callers", () => {
  const ann = { owner: "ann", mode: "queue" } as const;
  const bob = { owner: "bob", mode: "queue" } as const;
  const exhausted = expect.objectContaining({ kind: "exhausted" });

  it("hold at most 40 of the 50 places each, so that others can still send", async () => {
    office.become({ state: "busy" });
    for (let i = 0; i < 40; i++) await office.sent("x", ann);
    await expect(office.send("x", ann)).rejects.toEqual(exhausted);
    for (let i = 0; i < 10; i++) expect((await office.sent("x", bob)).outcome).toBe("queued");
    await expect(office.send("x", bob)).rejects.toMatchObject({ fields: { limit: 50 } });
  });

  it("see and cancel only their own messages, unless they may see all", async () => {
    office.become({ state: "busy" });
    await office.sent("x", { ...ann, requestId: "r" });
    const notFound = expect.objectContaining({ kind: "not-found" });
    expect(() => office.mailbox.get("r", { owner: "bob", seesAll: false })).toThrow(notFound);
    expect(() => office.mailbox.cancel("r", { owner: "bob", seesAll: false })).toThrow(notFound);
    expect(office.mailbox.get("r", { owner: "ann", seesAll: false }).outcome).toBe("queued");
    expect(office.mailbox.cancel("r", { owner: "bob", seesAll: true }).outcome).toBe("cancelled");
  });

  it("cannot displace another's id with 10,100 unsafe messages, here or after a restart", async () => {
    expect((await office.sent("once", { owner: "ann", requestId: "typed" })).outcome).toBe("submitted");
    for (let i = 0; i < 10_100; i++) await office.mailbox.send({ ...unsafe, requestId: `u${i}` }, live);
    expect((await office.sent("once", { owner: "ann", requestId: "typed" })).outcome).toBe("submitted");
    const restored = restoreNudges(office.records, machineTime(office.clock), RECEIPT_KEEP_MS, RECEIPT_KEEP);
    expect(restored.map(({ nudge }) => nudge.requestId)).toContain("typed");
    expect(office.typed).toEqual(["once"]);
  });

  const unsafe = {
    message: "unsafe",
    mode: "wait-idle",
    timeoutMs: 0,
    sender: "bob",
    owner: "bob",
    priority: "normal",
    ttlMs: 0,
  } as const;
});
