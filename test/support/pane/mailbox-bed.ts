import { afterEach, beforeEach, expect } from "vitest";
import { SignalBus } from "../../../internal/base/signal-bus.ts";
import type { Courier } from "../../../internal/pane/delivery/courier.ts";
import type { DeliveryResult } from "../../../internal/pane/delivery/delivery-attempt.ts";
import type { Situation } from "../../../internal/pane/delivery/delivery-policy.ts";
import { Mailbox } from "../../../internal/pane/delivery/mailbox.ts";
import type { TrackedNudge } from "../../../internal/pane/delivery/tracked-nudge.ts";
import { UnconfirmedText } from "../../../internal/pane/delivery/unconfirmed-text.ts";
import { hashOf, type NudgeRecord, type RestoredNudge } from "../../../internal/session/nudge-record.ts";
import type { NudgeReceipt, NudgeRequest } from "../../../internal/session/types.ts";
import { FakeClock } from "../fake-clock.ts";
import { machineTime } from "../machine-time.ts";
import { silentLogger } from "../silent-logger.ts";

export const DAY_MS = 86_400_000;
export const { signal: live } = new AbortController();
export const submitted = {
  type: "done",
  outcome: "submitted",
  error: "",
  evidence: [],
  typedMs: 1,
  confirmedMs: 2,
} as const satisfies DeliveryResult;

/** A mailbox with an agent in the state that the test gives. */
class Office {
  readonly clock = new FakeClock();
  readonly records: NudgeRecord[] = [];
  readonly receipts: NudgeReceipt[] = [];
  /** Checks that held or ended messages, in order. */
  readonly checks: string[] = [];
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
    idleUnprovable: false,
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
        held: (check) => this.checks.push(check),
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

  /** Sends and advances the clock until there is an answer. */
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

/** Each test that imports this has its own. */
export let office: Office;
/** Makes another office, which is not running yet. */
export const prepare = (restored: readonly RestoredNudge[] = []) => {
  office = new Office(restored);
};
export const open = (restored: readonly RestoredNudge[] = []) => {
  prepare(restored);
  office.run();
};
/** Call once in each file that uses this. */
export function useOffice(): void {
  beforeEach(() => open());
  afterEach(() => office.close());
}

export function nudgeLeft(requestId: string, intent: boolean, ended?: { readonly at: number }): RestoredNudge {
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
  return { nudge, intent, ended: ended && { receipt, at: ended.at } };
}
