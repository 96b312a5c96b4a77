import { beforeEach, describe, expect, it } from "vitest";
import { FakePane, fakeProfile } from "../../../test/fakes/fake-pane.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { machineTime } from "../../../test/support/machine-time.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { hashOf } from "../../session/nudge-record.ts";
import type { NudgeReceipt, NudgeRequest, NudgeTimings } from "../../session/types.ts";
import { deliver, recoverDelivery } from "./delivery.ts";
import type { Situation } from "./delivery-policy.ts";
import { Mailbox } from "./mailbox.ts";

const IDLE: Situation = {
  state: "idle",
  restartDue: true,
  composerSeen: true,
  draft: false,
  idleUnprovable: false,
  quietMs: 0,
};
const REQUEST: NudgeRequest = {
  requestId: "one",
  message: "please look at the tests",
  mode: "wait-idle",
  timeoutMs: 60_000,
  sender: "me",
  priority: "normal",
  ttlMs: 0,
};

let clock: FakeClock;
let pane: FakePane;
let now: Situation;
beforeEach(() => {
  clock = new FakeClock();
  pane = new FakePane(clock);
  now = IDLE;
});

/** The mailbox with the true delivery; `unseen`: an earlier process was typing the message when it died, 5 s ago. */
function mailbox(unseen = false): Mailbox {
  const sameText = (a: string, b: string) => a === b;
  const deps = { clock, sameText, writer: pane, source: pane, signs: pane, profile: fakeProfile(pane) };
  const { message, ...rest } = REQUEST;
  const times = { acceptedAt: clock.now() - 5000, expiresAt: clock.now() + 60_000 };
  const nudge = { ...rest, message, text: message, messageHash: hashOf(message), owner: "", ...times };
  return new Mailbox(
    {
      clock,
      time: machineTime(clock),
      logger: silentLogger,
      keep: () => {},
      clean: (text) => (text === "unsafe" ? { type: "unsafe", reason: "no" } : { type: "safe", text }),
      courier: {
        situation: () => Promise.resolve(now),
        deliver: ({ nudge: { text } }, onIntent, signal) => deliver(deps, { buffer: "gt-1", text, onIntent }, signal),
        recover: ({ nudge: { text } }, signal) =>
          recoverDelivery(deps, { buffer: "gt-1", text, onIntent: () => {} }, signal),
      },
      changes: pane.changes,
      held: () => {},
      ended: () => {},
      newId: () => "made",
    },
    unseen ? [{ nudge, intent: true }] : [],
  );
}

/** The receipt of one message; the mailbox runs as long as that takes. */
async function receiptOf(box: Mailbox, part: Partial<NudgeRequest> = {}): Promise<NudgeReceipt> {
  const stop = new AbortController();
  const running = box.run(stop.signal);
  running.catch(() => {});
  try {
    return await clock.until(box.send({ ...REQUEST, ...part }, stop.signal), 700_000);
  } finally {
    stop.abort(new Error("stopping"));
    await clock.until(running.catch(() => {}));
  }
}

const reported = ({ queuedMs, typedMs, submittedMs, confirmedMs }: NudgeTimings) => {
  return { queuedMs, typedMs, submittedMs, confirmedMs };
};
const SOME = expect.any(Number);

const drawnAfter = (ms: number) => {
  pane.onPaste = (text) => pane.after(ms, () => pane.compose(text));
};

describe("the times in a receipt", () => {
  it("SUBMITTED: when its text was seen, when Enter was pressed, when the text was seen leaving", async () => {
    drawnAfter(100);
    pane.onEnter = () => pane.after(50, () => pane.take());
    const { outcome, timings } = await receiptOf(mailbox());
    expect(outcome).toBe("submitted");
    expect(reported(timings)).toEqual({ queuedMs: 0, typedMs: 100, submittedMs: 150, confirmedMs: 200 });
  });

  it("SUBMITTED after a wait: counted from the acceptance, whatever the wall clock does meanwhile", async () => {
    now = { ...IDLE, state: "busy" };
    drawnAfter(100);
    pane.after(2000, () => clock.jump(-86_400_000));
    pane.after(3000, () => {
      now = IDLE;
      pane.changes.notify();
    });
    const { outcome, timings } = await receiptOf(mailbox(), { ttlMs: 600_000 });
    expect(outcome).toBe("submitted");
    expect(reported(timings)).toEqual({ queuedMs: 0, typedMs: 3100, submittedMs: 3150, confirmedMs: 3150 });
  });

  it("STRANDED: nothing was confirmed", async () => {
    pane.onEnter = () => {};
    const { outcome, timings } = await receiptOf(mailbox());
    expect(outcome).toBe("stranded");
    expect(reported(timings)).toEqual({ queuedMs: SOME, typedMs: SOME, submittedMs: SOME });
  });

  it("STRANDED behind a dialog that opened before Enter: nothing was submitted", async () => {
    pane.onPaste = (text) => {
      pane.compose(text);
      pane.after(10, () => {
        pane.waiting = true;
      });
    };
    const { outcome, timings } = await receiptOf(mailbox());
    expect(outcome).toBe("stranded");
    expect(reported(timings)).toEqual({ queuedMs: 0, typedMs: 0 });
  });

  it("UNKNOWN without an echo: its text was never seen, so there is no time of typing", async () => {
    pane.onPaste = () => {};
    const { outcome, timings } = await receiptOf(mailbox());
    expect(outcome).toBe("unknown");
    expect(reported(timings)).toEqual({ queuedMs: 0 });
    expect(timings.pastedMs).toBe(0);
  });

  it("UNKNOWN after an interruption: the emptied composer counts as no proof", async () => {
    const box = mailbox();
    pane.onEnter = () => {
      void box.interrupt(() => Promise.resolve());
      pane.take();
    };
    const { outcome, timings } = await receiptOf(box);
    expect(outcome).toBe("unknown");
    expect(reported(timings)).toEqual({ queuedMs: SOME, typedMs: SOME, submittedMs: SOME });
  });

  it("after a restart: counted from the acceptance in the previous process", async () => {
    pane.compose(REQUEST.message);
    const { outcome, timings } = await receiptOf(mailbox(true));
    expect(outcome).toBe("submitted");
    expect(reported(timings)).toEqual({ queuedMs: 0, typedMs: 5000, submittedMs: 5000, confirmedMs: 5000 });
  });

  it.each([
    ["blocked-by-dialog", { state: "dialog" }],
    ["composer-busy", { draft: true }],
    ["agent-dead", { state: "dead", restartDue: false }],
  ] as const)("%s: it was in the queue and never left it", async (expected, why) => {
    now = { ...IDLE, ...why };
    const { outcome, timings } = await receiptOf(mailbox());
    expect(outcome).toBe(expected);
    expect(reported(timings)).toEqual({ queuedMs: 0 });
  });

  it("QUEUED, EXPIRED and CANCELLED: it was in the queue and never left it", async () => {
    now = { ...IDLE, state: "busy" };
    const box = mailbox();
    const queued = await receiptOf(box, { mode: "queue", ttlMs: 1000 });
    expect([queued.outcome, reported(queued.timings)]).toEqual(["queued", { queuedMs: 0 }]);
    const other = await receiptOf(box, { requestId: "two", mode: "queue" });
    expect(other.outcome).toBe("queued");
    const cancelled = box.cancel("two");
    expect([cancelled.outcome, reported(cancelled.timings)]).toEqual(["cancelled", { queuedMs: 0 }]);
    await clock.advance(2000);
    const expired = await receiptOf(box, { ttlMs: 1000 });
    expect([expired.outcome, reported(expired.timings)]).toEqual(["expired", { queuedMs: 0 }]);
  });

  it("UNSAFE: it never entered the queue", async () => {
    const { outcome, timings } = await receiptOf(mailbox(), { message: "unsafe" });
    expect([outcome, reported(timings)]).toEqual(["unsafe", {}]);
  });
});
