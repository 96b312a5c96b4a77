import { BoundedMap } from "../auth/bounded-map.ts";
import type { TraceSpan } from "../base/tracing.ts";
import { failureName } from "../rpc/server/trace-calls.ts";
import type { NudgeOutcome, NudgeReceipt } from "../session/types.ts";
import type { SessionKey } from "./session-backend.ts";

/** What a call said became of an input. */
export type Answer = Pick<NudgeReceipt, "requestId" | "outcome">;

const MAX_OPEN = 1000;

/**
 * The span of an input from its acceptance to its receipt, which for what was queued comes after the call's own end.
 * Bounded: of too many that wait the oldest ends as `queued`.
 */
export class ReceiptSpans {
  readonly #follows: boolean;
  readonly #open = new Map<string, TraceSpan>();
  /** Receipts that came before the answer of their call. */
  readonly #early = new BoundedMap<NudgeOutcome>(MAX_OPEN);

  /** `follows`: `settled` will be called; else what was queued ends as that. */
  constructor({ follows }: { readonly follows: boolean }) {
    this.#follows = follows;
  }

  /** Makes the call. `span`: of the caller's call, if it is traced. */
  async around<T>(
    span: TraceSpan | undefined,
    key: SessionKey,
    call: () => Promise<T>,
    answerOf: (result: T) => Answer,
  ): Promise<T> {
    if (span?.isRecording !== true) return call();
    const receipt = span.child("receipt", "internal", { "gastown.session": key.id, "gastown.project": key.project });
    try {
      const result = await call();
      this.#answered(receipt, key, answerOf(result));
      return result;
    } catch (err) {
      receipt.end(failureName(err));
      throw err;
    }
  }

  /** What became of an input, as its session tells. */
  settled(key: SessionKey, { requestId, outcome }: Answer): void {
    if (outcome === "queued") return;
    const id = idOf(key, requestId);
    const receipt = this.#open.get(id);
    this.#open.delete(id);
    if (receipt === undefined) this.#early.set(id, outcome);
    else end(receipt, outcome);
  }

  #answered(receipt: TraceSpan, key: SessionKey, { requestId, outcome }: Answer): void {
    receipt.set({ "gastown.request": requestId });
    const id = idOf(key, requestId);
    const early = this.#early.get(id);
    if (outcome !== "queued" || early !== undefined || !this.#follows) {
      end(receipt, early ?? outcome);
      return;
    }
    this.#open.get(id)?.end();
    this.#open.set(id, receipt);
    if (this.#open.size <= MAX_OPEN) return;
    const [oldest] = this.#open;
    if (oldest === undefined) return;
    this.#open.delete(oldest[0]);
    end(oldest[1], "queued");
  }
}

function idOf({ project, id }: SessionKey, requestId: string): string {
  return JSON.stringify([project, id, requestId]);
}

function end(receipt: TraceSpan, outcome: NudgeOutcome): void {
  receipt.set({ "gastown.outcome": outcome });
  receipt.end();
}
