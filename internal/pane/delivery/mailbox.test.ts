import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { machineTime } from "../../../test/support/machine-time.ts";
import { screenOf } from "../../../test/support/screens/screens.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { DomainError } from "../../base/errors.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import { hashOf, type NudgeRecord, type RestoredNudge, recordsOf, restoreNudges } from "../../session/nudge-record.ts";
import type { NudgeReceipt, NudgeRequest } from "../../session/types.ts";
import type { Courier } from "./courier.ts";
import type { DeliveryResult } from "./delivery-attempt.ts";
import type { Situation } from "./delivery-policy.ts";
import { Mailbox } from "./mailbox.ts";
import { QUEUE_LIMIT, RECEIPT_KEEP, RECEIPT_KEEP_MS } from "./nudge-book.ts";
import type { TrackedNudge } from "./tracked-nudge.ts";
import { UnconfirmedText } from "./unconfirmed-text.ts";

const DAY_MS = 86_400_000;
const { signal: live } = new AbortController();
const submitted: DeliveryResult = {
  type: "done",
  outcome: "submitted",
  error: "",
  evidence: [],
  typedMs: 1,
  confirmedMs: 2,
};

/** A mailbox with an agent that is whatever the test says. */
class Office {
  readonly clock = new FakeClock();
  readonly records: NudgeRecord[] = [];
  readonly receipts: NudgeReceipt[] = [];
  /** Texts in the order in which they were typed. */
  readonly typed: string[] = [];
  readonly recoveredIds: string[] = [];
  readonly changes = new SignalBus();
  readonly leftover = new UnconfirmedText();
  now: Situation = {
    state: "idle",
    restartDue: true,
    composerSeen: true,
    draft: false,
    idleIsUnprovable: false,
    quietMs: 0,
  };
  deliver: Courier["deliver"] = (tracked, onIntent) => {
    onIntent();
    return this.type(tracked);
  };
  recover: (tracked: TrackedNudge) => Promise<DeliveryResult> = () => Promise.resolve(submitted);
  keep: (record: NudgeRecord) => void = (record) => this.records.push(record);
  readonly mailbox: Mailbox;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #made = 0;

  constructor(restored: readonly RestoredNudge[] = []) {
    this.mailbox = new Mailbox(
      {
        clock: this.clock,
        time: machineTime(this.clock),
        logger: silentLogger,
        keep: (record) => this.keep(record),
        clean: (message) =>
          message === "unsafe" ? { type: "unsafe", reason: "cannot be made safe" } : { type: "safe", text: message },
        courier: {
          situation: () => Promise.resolve(this.now),
          deliver: (tracked, onIntent, signal) => this.deliver(tracked, onIntent, signal),
          recover: (tracked) => {
            this.recoveredIds.push(tracked.nudge.requestId);
            return this.recover(tracked);
          },
          leftover: this.leftover,
        },
        changes: this.changes,
        ended: (receipt) => this.receipts.push(receipt),
        newId: () => `made-${++this.#made}`,
      },
      restored,
    );
  }

  type(tracked: TrackedNudge, ms = 10): Promise<DeliveryResult> {
    return this.clock.sleep(ms).then(() => {
      this.typed.push(tracked.nudge.text);
      return submitted;
    });
  }

  become(now: Partial<Situation>): void {
    this.now = { ...this.now, ...now };
    this.changes.notify();
  }

  send(message: string, part: Partial<NudgeRequest> = {}, signal = live): Promise<NudgeReceipt> {
    const defaults = {
      requestId: "",
      mode: "wait-idle",
      timeoutMs: 0,
      sender: "me",
      priority: "normal",
      ttlMs: 0,
    } as const;
    return this.mailbox.send({ ...defaults, message, ...part }, signal);
  }

  /** Sends and lets time pass until there is an answer. */
  sent(message: string, part: Partial<NudgeRequest> = {}): Promise<NudgeReceipt> {
    return this.clock.until(this.send(message, part));
  }

  run(): void {
    this.#running = this.mailbox.run(this.#stop.signal);
    this.#running.catch(() => {});
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error("the test is over"));
    if (this.#running !== undefined) await this.clock.until(this.#running);
    expect(this.clock.sleeping).toBe(0);
  }
}

let office: Office;
const open = (restored: readonly RestoredNudge[] = []) => {
  office = new Office(restored);
  office.run();
};
beforeEach(() => open());
afterEach(() => office.close());

describe("a message", () => {
  it("is typed when the agent is idle, and its receipt says so", async () => {
    const receipt = await office.sent("hello");
    expect(receipt).toMatchObject({ outcome: "submitted", requestId: "made-1", queuePosition: 0, sender: "me" });
    expect(office.typed).toEqual(["hello"]);
    expect(office.receipts).toEqual([receipt]);
    expect(office.records.map((record) => record.type)).toEqual(["accepted", "intent", "ended"]);
  });

  it("waits out a busy agent", async () => {
    office.become({ state: "busy" });
    const sending = office.send("hello");
    await office.clock.advance(5000);
    expect(office.typed).toEqual([]);
    office.become({ state: "idle" });
    expect((await office.clock.until(sending)).outcome).toBe("submitted");
    expect(office.clock.monotonicMs()).toBeLessThan(5100);
  });

  it("that cannot be made safe ends at once", async () => {
    expect(await office.sent("unsafe")).toMatchObject({ outcome: "unsafe", error: "cannot be made safe" });
    expect(office.typed).toEqual([]);
  });

  it("is tried again when nothing was typed, without another place in the queue", async () => {
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

  it("that is refused in a dialog keeps nothing", async () => {
    office.become({ state: "dialog" });
    expect(await office.sent("hello")).toMatchObject({ outcome: "blocked-by-dialog" });
    office.become({ state: "idle" });
    await office.clock.advance(1000);
    expect([office.typed, office.mailbox.depth]).toEqual([[], 0]);
  });
});

describe("the order", () => {
  it("is that of acceptance, one at a time", async () => {
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

  it("puts urgent ones ahead, in their own order", async () => {
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

  it("lets an immediate one pass those that wait for idle", async () => {
    office.become({ state: "busy" });
    const waiting = office.send("later");
    expect((await office.sent("now", { mode: "immediate" })).outcome).toBe("submitted");
    expect(office.typed).toEqual(["now"]);
    office.become({ state: "idle" });
    await office.clock.until(waiting);
  });

  it("is reported as places in the queue", async () => {
    office.become({ state: "busy" });
    const places = [];
    for (const priority of ["normal", "normal", "urgent"] as const)
      places.push((await office.sent("m", { mode: "queue", priority })).queuePosition);
    expect(places).toEqual([1, 2, 1]);
    expect(office.mailbox.get("made-2").queuePosition).toBe(3);
    expect(office.mailbox.depth).toBe(3);
  });
});

describe("the same request id", () => {
  it("with the same message gives the same receipt and types nothing", async () => {
    const first = await office.sent("hello", { requestId: "r" });
    expect(await office.sent("hello", { requestId: "r" })).toEqual(first);
    expect(office.typed).toEqual(["hello"]);
  });

  it("asked twice at once is one message", async () => {
    office.become({ state: "busy" });
    const both = [office.send("hello", { requestId: "r" }), office.send("hello", { requestId: "r" })];
    await settle();
    office.become({ state: "idle" });
    const [first, second] = await office.clock.until(Promise.all(both));
    expect(second).toEqual(first);
    expect(office.typed).toEqual(["hello"]);
  });

  it.each([2 * DAY_MS, -2 * DAY_MS])(
    "is known when the wall clock jumps by %i ms, here and after a restart",
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

  it("is forgotten after 24 hours, whatever the wall clock says", async () => {
    await office.sent("hello", { requestId: "r" });
    office.clock.jump(-DAY_MS);
    await office.clock.advance(DAY_MS);
    expect(() => office.mailbox.get("r")).toThrow("no message");
  });

  it("with another message is refused", async () => {
    await office.sent("hello", { requestId: "r" });
    await expect(office.send("other", { requestId: "r" })).rejects.toMatchObject({ kind: "already-exists" });
  });

  it("is known again by what a journal keeps in the end, which is not its text", async () => {
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

  it("of a refusal does not type it later either", async () => {
    office.become({ state: "dialog" });
    await office.sent("hello", { requestId: "r" });
    office.become({ state: "idle" });
    expect((await office.sent("hello", { requestId: "r" })).outcome).toBe("blocked-by-dialog");
    expect(office.typed).toEqual([]);
  });
});

describe("a queue that is full", () => {
  it("refuses the next, and takes one again when there is room", async () => {
    office.become({ state: "busy" });
    for (let i = 0; i < QUEUE_LIMIT; i++) await office.sent(`m${i}`, { mode: "queue" });
    await expect(office.send("one more")).rejects.toMatchObject({ kind: "exhausted", fields: { limit: 50 } });
    office.mailbox.cancel("made-1");
    expect((await office.sent("one more", { mode: "queue" })).outcome).toBe("queued");
  });
});

describe("time", () => {
  it("a call that ends first is answered QUEUED, and the message is typed later", async () => {
    office.become({ state: "busy" });
    const receipt = await office.sent("hello", { timeoutMs: 2000, requestId: "r" });
    expect(receipt).toMatchObject({ outcome: "queued", queuePosition: 1 });
    expect(office.clock.monotonicMs()).toBe(2000);
    office.become({ state: "idle" });
    await office.clock.advance(500);
    expect(office.typed).toEqual(["hello"]);
    expect(office.mailbox.get("r").outcome).toBe("submitted");
  });

  it("what is queued waits through dialogs, drafts and restarts", async () => {
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

  it("mode queue answers at once", async () => {
    office.become({ state: "busy" });
    await office.sent("hello", { mode: "queue" });
    expect(office.clock.monotonicMs()).toBe(0);
  });

  it("a message expires with its time to live", async () => {
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

  it("a caller that leaves leaves its message", async () => {
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

describe("calling a message off", () => {
  it("works while it waits, and tells its caller", async () => {
    office.become({ state: "busy" });
    const sending = office.send("hello", { requestId: "r" });
    await settle();
    expect(office.mailbox.cancel("r").outcome).toBe("cancelled");
    expect((await sending).outcome).toBe("cancelled");
    office.become({ state: "idle" });
    await office.clock.advance(1000);
    expect(office.typed).toEqual([]);
  });

  it("is too late while it is typed, and after", async () => {
    const sending = office.send("hello", { requestId: "r" });
    await office.clock.advance(5);
    expect(office.mailbox.cancel("r")).toMatchObject({ outcome: "queued", queuePosition: 0 });
    expect((await office.clock.until(sending)).outcome).toBe("submitted");
    expect(office.mailbox.cancel("r").outcome).toBe("submitted");
  });

  it("needs a message that is known", () => {
    for (const ask of [() => office.mailbox.get("none"), () => office.mailbox.cancel("none")])
      expect(ask).toThrow(expect.objectContaining({ kind: "not-found" }));
  });
});

describe("the pen", () => {
  it("keeps a delivery and another writer apart", async () => {
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

  it("keeps a recovery and another writer apart", async () => {
    await office.close();
    office = new Office([nudgeLeft("a", true)]);
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

  it("goes on after a writer that failed", async () => {
    await expect(office.mailbox.exclusively(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect((await office.sent("hello")).outcome).toBe("submitted");
  });
});

function nudgeLeft(requestId: string, intent: boolean, ended?: { readonly at: number }): RestoredNudge {
  const nudge = {
    requestId,
    messageHash: hashOf(requestId),
    message: requestId,
    text: requestId,
    mode: "wait-idle",
    priority: "normal",
    sender: "me (unverified)",
    acceptedAt: new FakeClock().now(),
    expiresAt: new FakeClock().now() + 60_000,
  } as const;
  const receipt = {
    requestId,
    outcome: "submitted",
    error: "",
    sender: "",
    queuePosition: 0,
    evidence: [],
    timings: {},
  } as const;
  return { nudge, intent, ...(ended === undefined ? {} : { ended: { receipt, at: ended.at } }) };
}

describe("what an earlier process left", () => {
  const reopen = async (...left: readonly RestoredNudge[]) => {
    await office.close();
    open(left);
  };

  it("is typed in its order, those that may have been typed judged first", async () => {
    await reopen(nudgeLeft("a", false), nudgeLeft("b", true), nudgeLeft("c", false));
    await office.clock.advance(1000);
    expect(office.recoveredIds).toEqual(["b"]);
    expect(office.typed).toEqual(["a", "c"]);
    expect(office.receipts.map((receipt) => receipt.requestId)).toEqual(["b", "a", "c"]);
  });

  it("is typed when it is certain that it was not", async () => {
    await office.close();
    office = new Office([nudgeLeft("a", true)]);
    office.recover = () => Promise.resolve({ type: "retry", reason: "not typed" });
    office.run();
    await office.clock.advance(1000);
    expect(office.typed).toEqual(["a"]);
    expect(office.records.map((record) => record.type)).toEqual(["withdrawn", "intent", "ended"]);
  });

  it("waits through a dialog: nobody waits for an answer any more", async () => {
    await office.close();
    office = new Office([nudgeLeft("a", false)]);
    office.become({ state: "dialog" });
    office.run();
    await office.clock.advance(1000);
    expect(office.mailbox.get("a").outcome).toBe("queued");
  });

  it("answers for what has ended, and types it never again", async () => {
    await reopen(nudgeLeft("a", true, { at: new FakeClock().now() }));
    expect((await office.sent("a", { requestId: "a" })).outcome).toBe("submitted");
    expect([office.recoveredIds, office.typed]).toEqual([[], []]);
  });

  it("is written in full for the next process", async () => {
    office.become({ state: "busy" });
    await office.sent("waits", { mode: "queue" });
    const snapshot = office.mailbox.snapshot();
    expect(snapshot).toEqual(restoreNudges(office.records, machineTime(office.clock), 1, { total: 1, ofOne: 1 }));
  });

  it("counts a message under way as one that may have been typed", async () => {
    office.deliver = (tracked) => office.type(tracked, 100);
    const sending = office.send("hello");
    await office.clock.advance(50);
    expect(office.mailbox.snapshot()[0]?.intent).toBe(true);
    await office.clock.until(sending);
  });
});

describe("receipts are forgotten", () => {
  it("after 24 hours: the id is free again", async () => {
    await office.sent("hello", { requestId: "r" });
    await office.clock.advance(RECEIPT_KEEP_MS - 20);
    expect(office.mailbox.get("r").outcome).toBe("submitted");
    await office.clock.advance(40);
    expect(() => office.mailbox.get("r")).toThrow(expect.objectContaining({ kind: "not-found" }));
    expect((await office.sent("other", { requestId: "r" })).outcome).toBe("submitted");
    expect(office.typed).toEqual(["hello", "other"]);
  });

  it("when there are more than 10,000, the oldest first, and never a message that waits", async () => {
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

describe("callers who can be told apart", () => {
  const ann = { owner: "ann", mode: "queue" } as const;
  const bob = { owner: "bob", mode: "queue" } as const;
  const exhausted = expect.objectContaining({ kind: "exhausted" });

  it("hold at most 40 of the 50 places each, so that another is still heard", async () => {
    office.become({ state: "busy" });
    for (let i = 0; i < 40; i++) await office.sent("x", ann);
    await expect(office.send("x", ann)).rejects.toEqual(exhausted);
    for (let i = 0; i < 10; i++) expect((await office.sent("x", bob)).outcome).toBe("queued");
    await expect(office.send("x", bob)).rejects.toMatchObject({ fields: { limit: 50 } });
  });

  it("see and cancel their own messages only, unless they see all", async () => {
    office.become({ state: "busy" });
    await office.sent("x", { ...ann, requestId: "r" });
    const notFound = expect.objectContaining({ kind: "not-found" });
    expect(() => office.mailbox.get("r", { owner: "bob", seesAll: false })).toThrow(notFound);
    expect(() => office.mailbox.cancel("r", { owner: "bob", seesAll: false })).toThrow(notFound);
    expect(office.mailbox.get("r", { owner: "ann", seesAll: false }).outcome).toBe("queued");
    expect(office.mailbox.cancel("r", { owner: "bob", seesAll: true }).outcome).toBe("cancelled");
  });

  it("cannot make another's id be forgotten by 10,100 unsafe messages, here or after a restart", async () => {
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

describe("a journal that takes nothing", () => {
  const full = () => {
    throw new DomainError("exhausted", "cannot write the journal");
  };

  it("refuses the message, and forgets it", async () => {
    office.keep = full;
    await expect(office.send("hello", { requestId: "r" })).rejects.toMatchObject({ kind: "exhausted" });
    expect(() => office.mailbox.get("r")).toThrow(expect.objectContaining({ kind: "not-found" }));
  });

  it("leaves a message that cannot be called off where it was", async () => {
    office.become({ state: "busy" });
    await office.sent("hello", { mode: "queue", requestId: "r" });
    office.keep = full;
    expect(() => office.mailbox.cancel("r")).toThrow(expect.objectContaining({ kind: "exhausted" }));
    expect(office.mailbox.get("r").outcome).toBe("queued");
  });

  it("never lets an unsafe message wait to be typed", async () => {
    office.become({ state: "busy" });
    office.keep = (record) => (record.type === "ended" ? full() : undefined);
    await expect(office.send("unsafe", { requestId: "r" })).rejects.toMatchObject({ kind: "exhausted" });
    expect(office.mailbox.depth).toBe(0);
  });
});

describe("Ctrl-C and Escape", () => {
  const proof = { source: "hook", value: "the agent took this text", ageMs: 0, confidence: "proof" } as const;

  it.each<[string, DeliveryResult & { type: "done" }, string]>([
    ["a text that left the composer counts as submitted no more", submitted, "unknown"],
    [
      "nor by a hook that does not name the text",
      { ...submitted, evidence: [{ ...proof, confidence: "strong" }] },
      "unknown",
    ],
    ["the agent's own word does count", { ...submitted, evidence: [proof] }, "submitted"],
    ["what was stranded is stranded", { ...submitted, outcome: "stranded", error: "it stands there" }, "stranded"],
  ])("are pressed while a message is typed: %s", async (_, result, outcome) => {
    const typed = Promise.withResolvers<DeliveryResult>();
    office.deliver = (_letter, onIntent) => {
      onIntent();
      return typed.promise;
    };
    const receipt = office.send("hello");
    await settle();
    expect(await office.mailbox.interrupt(() => Promise.resolve("at once"))).toBe("at once");
    typed.resolve(result);
    expect((await office.clock.until(receipt, 1000)).outcome).toBe(outcome);
  });

  it("also count when they were on their way before the message was", async () => {
    const [pressed, typed] = [Promise.withResolvers<void>(), Promise.withResolvers<DeliveryResult>()];
    office.deliver = () => typed.promise;
    const interrupted = office.mailbox.interrupt(() => pressed.promise);
    const receipt = office.send("hello");
    await settle();
    pressed.resolve();
    await interrupted;
    typed.resolve(submitted);
    expect((await office.clock.until(receipt, 1000)).outcome).toBe("unknown");
  });
});

describe("a text that nobody saw leave an unreadable prompt", () => {
  const screen = screenOf(["$ hello"]);
  const strands = (): Promise<DeliveryResult> => {
    return Promise.resolve({ type: "done", outcome: "stranded", error: "", evidence: [], typedMs: 1, stands: true });
  };

  it.each([
    ["keys that somebody presses", () => office.mailbox.exclusively(() => Promise.resolve())],
    ["an interruption", () => office.mailbox.interrupt(() => Promise.resolve())],
  ])("is remembered until %s", async (_, press) => {
    office.deliver = strands;
    office.run();
    expect(await office.sent("hello", { timeoutMs: 1000 })).toMatchObject({ outcome: "stranded" });
    expect(office.leftover.stands(screen, 5000)).toBe(true);
    await office.clock.until(press());
    expect(office.leftover.stands(screen, 5000)).toBe(false);
  });

  it("is not remembered of one that was submitted", async () => {
    office.run();
    expect(await office.sent("hello", { timeoutMs: 1000 })).toMatchObject({ outcome: "submitted" });
    expect(office.leftover.stands(screen, 5000)).toBe(false);
  });
});
