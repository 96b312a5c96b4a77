import { describe, expect, it } from "vitest";
import { settle } from "../../../test/support/fake-clock.ts";
import { DAY_MS, nudgeLeft, office, prepare, submitted, useOffice } from "../../../test/support/pane/mailbox-bed.ts";
import { QUEUE_LIMIT } from "./nudge-book.ts";

useOffice();

describe("a message", () => {
  it("is typed if the agent is idle, and its receipt says so", async () => {
    const receipt = await office.sent("hello");
    expect(receipt).toMatchObject({ outcome: "submitted", requestId: "made-1", queuePosition: 0, sender: "me" });
    expect(office.typed).toEqual(["hello"]);
    expect(office.receipts).toEqual([receipt]);
    expect(office.records.map((record) => record.type)).toEqual(["accepted", "intent", "ended"]);
  });

  it("waits until a busy agent is idle", async () => {
    office.become({ state: "busy" });
    const sending = office.send("hello");
    await office.clock.advance(5000);
    expect(office.typed).toEqual([]);
    office.become({ state: "idle" });
    expect((await office.clock.until(sending)).outcome).toBe("submitted");
    expect(office.clock.monotonicMs()).toBeLessThan(5100);
  });

  it("names each check that holds it, once, and the one that ends it", async () => {
    office.become({ state: "busy" });
    const sending = office.send("hello");
    await office.clock.advance(5000);
    office.become({ composerSeen: false });
    await office.clock.advance(5000);
    office.become({ state: "stopping" });
    expect((await office.clock.until(sending)).outcome).toBe("agent-dead");
    expect(office.checks).toEqual(["busy", "no-composer", "stopping"]);
  });

  it("that cannot be made safe ends at once", async () => {
    expect(await office.sent("unsafe")).toMatchObject({ outcome: "unsafe", error: "cannot be made safe" });
    expect(office.typed).toEqual([]);
  });

  it("is tried again if nothing was typed, and keeps its place in the queue", async () => {
    let attempts = 0;
    office.deliver = (tracked, onIntent) => {
      if (++attempts === 1) return Promise.resolve({ type: "retry", reason: "not now" });
      onIntent();
      if (attempts === 2) return Promise.resolve({ type: "retry", reason: "tmux went away" });
      return office.type(tracked);
    };
    const both = await office.clock.until(Promise.all([office.send("first"), office.send("second")]));
    expect(both.map((receipt) => receipt.outcome)).toEqual(["submitted", "submitted"]);
    expect(office.typed).toEqual(["first", "second"]);
    const kinds = office.records.map((record) => record.type);
    expect(kinds).toEqual(["accepted", "accepted", "intent", "withdrawn", "intent", "ended", "intent", "ended"]);
  });

  it("that is refused because of a dialog leaves nothing behind", async () => {
    office.become({ state: "dialog" });
    expect(await office.sent("hello")).toMatchObject({ outcome: "blocked-by-dialog" });
    office.become({ state: "idle" });
    await office.clock.advance(1000);
    expect([office.typed, office.mailbox.depth]).toEqual([[], 0]);
  });
});

describe("the order", () => {
  it("follows acceptance, one message at a time", async () => {
    let underWay = 0;
    office.deliver = async (tracked, onIntent) => {
      expect(++underWay).toBe(1);
      onIntent();
      const result = await office.type(tracked);
      underWay--;
      return result;
    };
    const texts = ["a", "b", "c", "d"];
    await office.clock.until(Promise.all(texts.map((text) => office.send(text))));
    expect(office.typed).toEqual(texts);
  });

  it("puts urgent messages first, in their own order", async () => {
    office.become({ state: "busy" });
    const sending = [
      office.send("a"),
      office.send("b", { priority: "urgent" }),
      office.send("c"),
      office.send("d", { priority: "urgent" }),
    ];
    await settle();
    office.become({ state: "idle" });
    await office.clock.until(Promise.all(sending));
    expect(office.typed).toEqual(["b", "d", "a", "c"]);
  });

  it("lets an immediate message pass those that wait for idle", async () => {
    office.become({ state: "busy" });
    const waiting = office.send("later");
    expect((await office.sent("now", { mode: "immediate" })).outcome).toBe("submitted");
    expect(office.typed).toEqual(["now"]);
    office.become({ state: "idle" });
    await office.clock.until(waiting);
  });

  it("is reported as positions in the queue", async () => {
    office.become({ state: "busy" });
    const places = [];
    for (const priority of ["normal", "normal", "urgent"] as const)
      places.push((await office.sent("m", { mode: "queue", priority })).queuePosition);
    expect(places).toEqual([1, 2, 1]);
    expect(office.mailbox.get("made-2").queuePosition).toBe(3);
    expect(office.mailbox.depth).toBe(3);
  });
});

describe("a full queue", () => {
  it("refuses the next message, and accepts one again when there is room", async () => {
    office.become({ state: "busy" });
    for (let i = 0; i < QUEUE_LIMIT; i++) await office.sent(`m${i}`, { mode: "queue" });
    await expect(office.send("one more")).rejects.toMatchObject({ kind: "exhausted", fields: { limit: 50 } });
    office.mailbox.cancel("made-1");
    expect((await office.sent("one more", { mode: "queue" })).outcome).toBe("queued");
  });
});

describe("time", () => {
  it("a call that times out first returns QUEUED, and the message is typed later", async () => {
    office.become({ state: "busy" });
    const receipt = await office.sent("hello", { timeoutMs: 2000, requestId: "r" });
    expect(receipt).toMatchObject({ outcome: "queued", queuePosition: 1 });
    expect(office.clock.monotonicMs()).toBe(2000);
    office.become({ state: "idle" });
    await office.clock.advance(500);
    expect(office.typed).toEqual(["hello"]);
    expect(office.mailbox.get("r").outcome).toBe("submitted");
  });

  it("a queued message waits through dialogs, drafts and restarts", async () => {
    office.become({ state: "busy" });
    await office.sent("hello", { timeoutMs: 1, requestId: "r" });
    for (const bad of [{ state: "dialog" }, { state: "dead" }, { state: "idle", draft: true }] as const) {
      office.become(bad);
      await office.clock.advance(1000);
      expect(office.mailbox.get("r").outcome).toBe("queued");
    }
    office.become({ state: "idle", draft: false });
    await office.clock.advance(100);
    expect(office.typed).toEqual(["hello"]);
  });

  it("a call with mode queue returns at once", async () => {
    office.become({ state: "busy" });
    await office.sent("hello", { mode: "queue" });
    expect(office.clock.monotonicMs()).toBe(0);
  });

  it("a message expires after its time to live", async () => {
    office.become({ state: "busy" });
    const sending = office.send("hello", { ttlMs: 3000 });
    expect((await office.clock.until(sending)).outcome).toBe("expired");
    expect(office.clock.monotonicMs()).toBeLessThanOrEqual(3250);
    expect(office.typed).toEqual([]);
  });

  it("a message does not expire because the wall clock jumps", async () => {
    office.become({ state: "busy" });
    const sending = office.send("hello", { ttlMs: 60_000, timeoutMs: 60_000 });
    await office.clock.advance(1000);
    office.clock.jump(DAY_MS);
    await office.clock.advance(1000);
    office.become({ state: "idle" });
    expect((await office.clock.until(sending)).outcome).toBe("submitted");
  });

  it("a message stays when its caller leaves", async () => {
    office.become({ state: "busy" });
    const caller = new AbortController();
    const sending = office.send("hello", { requestId: "r" }, caller.signal);
    await settle();
    caller.abort(new Error("gone"));
    expect((await sending).outcome).toBe("queued");
    office.become({ state: "idle" });
    await office.clock.advance(100);
    expect(office.typed).toEqual(["hello"]);
  });
});

describe("cancelling a message", () => {
  it("works while it waits, and its caller is notified", async () => {
    office.become({ state: "busy" });
    const sending = office.send("hello", { requestId: "r" });
    await settle();
    expect(office.mailbox.cancel("r").outcome).toBe("cancelled");
    expect((await sending).outcome).toBe("cancelled");
    office.become({ state: "idle" });
    await office.clock.advance(1000);
    expect(office.typed).toEqual([]);
  });

  it("is too late while it is being typed, and afterwards", async () => {
    const sending = office.send("hello", { requestId: "r" });
    await office.clock.advance(5);
    expect(office.mailbox.cancel("r")).toMatchObject({ outcome: "queued", queuePosition: 0 });
    expect((await office.clock.until(sending)).outcome).toBe("submitted");
    expect(office.mailbox.cancel("r").outcome).toBe("submitted");
  });

  it("requires a known message", () => {
    for (const ask of [() => office.mailbox.get("none"), () => office.mailbox.cancel("none")])
      expect(ask).toThrow(expect.objectContaining({ kind: "not-found" }));
  });
});

describe("the lock on the pane", () => {
  it("separates a delivery from another writer", async () => {
    const steps: string[] = [];
    office.deliver = async (tracked) => {
      steps.push("delivery begins");
      const result = await office.type(tracked, 100);
      steps.push("delivery ends");
      return result;
    };
    const sending = office.send("hello");
    await office.clock.advance(10);
    const other = office.mailbox.exclusively(async () => {
      steps.push("other begins");
      await office.clock.sleep(100);
      steps.push("other ends");
    });
    const last = office.send("again");
    await office.clock.until(Promise.all([sending, other, last]));
    expect(steps).toEqual([
      "delivery begins",
      "delivery ends",
      "other begins",
      "other ends",
      "delivery begins",
      "delivery ends",
    ]);
  });

  it("separates a recovery from another writer", async () => {
    await office.close();
    prepare([nudgeLeft("a", true)]);
    let recovering = false;
    office.recover = async () => {
      recovering = true;
      await office.clock.sleep(100);
      recovering = false;
      return submitted;
    };
    office.run();
    await office.clock.advance(10);
    const seen = await office.clock.until(office.mailbox.exclusively(() => Promise.resolve(recovering)));
    expect(seen).toBe(false);
  });

  it("is released after a writer that failed", async () => {
    await expect(office.mailbox.exclusively(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect((await office.sent("hello")).outcome).toBe("submitted");
  });
});
