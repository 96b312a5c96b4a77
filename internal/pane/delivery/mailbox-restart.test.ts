import { describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { machineTime } from "../../../test/support/machine-time.ts";
import { nudgeLeft, office, open, prepare, submitted, useOffice } from "../../../test/support/pane/mailbox-bed.ts";
import { screenOf } from "../../../test/support/screens/screens.ts";
import { DomainError } from "../../base/errors.ts";
import { type RestoredNudge, restoreNudges } from "../../session/nudge-record.ts";
import type { DeliveryResult } from "./delivery-attempt.ts";

useOffice();

describe("the messages of an earlier process", () => {
  const reopen = async (...left: readonly RestoredNudge[]) => {
    await office.close();
    open(left);
  };

  it("are typed in order, after the ones that may already have been typed are judged", async () => {
    await reopen(nudgeLeft("a", false), nudgeLeft("b", true), nudgeLeft("c", false));
    await office.clock.advance(1000);
    expect(office.recoveredIds).toEqual(["b"]);
    expect(office.typed).toEqual(["a", "c"]);
    expect(office.receipts.map((receipt) => receipt.requestId)).toEqual(["b", "a", "c"]);
  });

  it("are typed if the earlier process certainly did not type them", async () => {
    await office.close();
    prepare([nudgeLeft("a", true)]);
    office.recover = () => Promise.resolve({ type: "retry", reason: "not typed" });
    office.run();
    await office.clock.advance(1000);
    expect(office.typed).toEqual(["a"]);
    expect(office.records.map((record) => record.type)).toEqual(["withdrawn", "intent", "ended"]);
  });

  it("wait through a dialog, because no caller waits for an answer", async () => {
    await office.close();
    prepare([nudgeLeft("a", false)]);
    office.become({ state: "dialog" });
    office.run();
    await office.clock.advance(1000);
    expect(office.mailbox.get("a").outcome).toBe("queued");
  });

  it("are answered if they have ended, and never typed again", async () => {
    await reopen(nudgeLeft("a", true, { at: new FakeClock().now() }));
    expect((await office.sent("a", { requestId: "a" })).outcome).toBe("submitted");
    expect([office.recoveredIds, office.typed]).toEqual([[], []]);
  });

  it("are written completely for the next process", async () => {
    office.become({ state: "busy" });
    await office.sent("waits", { mode: "queue" });
    const snapshot = office.mailbox.snapshot();
    expect(snapshot).toEqual(restoreNudges(office.records, machineTime(office.clock), 1, { total: 1, ofOne: 1 }));
  });

  it("count as possibly typed if they were in progress", async () => {
    office.deliver = (tracked) => office.type(tracked, 100);
    const sending = office.send("hello");
    await office.clock.advance(50);
    expect(office.mailbox.snapshot()[0]?.intent).toBe(true);
    await office.clock.until(sending);
  });
});

describe("a journal that cannot be written", () => {
  const full = () => {
    throw new DomainError("exhausted", "cannot write the journal");
  };

  it("makes the mailbox refuse and forget the message", async () => {
    office.keep = full;
    await expect(office.send("hello", { requestId: "r" })).rejects.toMatchObject({ kind: "exhausted" });
    expect(() => office.mailbox.get("r")).toThrow(expect.objectContaining({ kind: "not-found" }));
  });

  it("keeps a message in the queue if its cancellation cannot be recorded", async () => {
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
  const proof = { source: "hook", value: "the agent accepted this text", ageMs: 0, confidence: "proof" } as const;

  it.each<[string, DeliveryResult & { type: "done" }, string]>([
    ["a text that left the composer no longer counts as submitted", submitted, "unknown"],
    [
      "a hook that does not name the text does not count either",
      { ...submitted, evidence: [{ ...proof, confidence: "strong" }] },
      "unknown",
    ],
    ["the agent's own report counts", { ...submitted, evidence: [proof] }, "submitted"],
    ["a stranded text stays stranded", { ...submitted, outcome: "stranded", error: "it stands there" }, "stranded"],
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

  it("also count if they were pressed before the message arrived", async () => {
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

describe("a text that may still be in an unreadable prompt", () => {
  const screen = screenOf(["$ hello"]);
  const strands = (): Promise<DeliveryResult> => {
    return Promise.resolve({ type: "done", outcome: "stranded", error: "", evidence: [], typedMs: 1, stands: true });
  };

  it.each([
    ["a person presses keys", () => office.mailbox.exclusively(() => Promise.resolve())],
    ["an interruption", () => office.mailbox.interrupt(() => Promise.resolve())],
  ])("is remembered until %s", async (_, press) => {
    office.deliver = strands;
    office.run();
    expect(await office.sent("hello", { timeoutMs: 1000 })).toMatchObject({ outcome: "stranded" });
    expect(office.leftover.stands(screen, 5000)).toBe(true);
    await office.clock.until(press());
    expect(office.leftover.stands(screen, 5000)).toBe(false);
  });

  it("is not remembered if it was submitted", async () => {
    office.run();
    expect(await office.sent("hello", { timeoutMs: 1000 })).toMatchObject({ outcome: "submitted" });
    expect(office.leftover.stands(screen, 5000)).toBe(false);
  });
});
