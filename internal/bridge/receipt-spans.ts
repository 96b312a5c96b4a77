import { BoundedMap } from "../auth/bounded-map.ts";
import type { TraceSpan } from "../base/tracing.ts";
import { failureName } from "../rpc/server/trace-calls.ts";
import type { NudgeOutcome, NudgeReceipt } from "../session/types.ts";
import type { SessionKey } from "./session-backend.ts";

/** The outcome of an input as the call's response states it. */
export type InputReceipt = Pick<NudgeReceipt, "requestId" | "outcome">;

/** Limit of open spans, and of early receipts, per project. */
const MAX_OPEN = 1000;

/** Pending inputs of one project. */
interface Waiting {
  readonly open: Map<string, TraceSpan>;
  /** Receipts that arrived before the response of their call. */
  readonly early: BoundedMap<NudgeOutcome>;
}

/**
 * Traces an input from its acceptance to its receipt, which for a queued input comes after the end of the call.
 * Bounded: if too many inputs of a project are pending, the span of the oldest ends as `queued`.
 */
export class ReceiptSpans {
  readonly #follows: boolean;
  readonly #projects = new Map<string, Waiting>();

  /** `follows`: `settled` will be called; otherwise the spans of queued inputs end as `queued`. */
  constructor({ follows }: { readonly follows: boolean }) {
    this.#follows = follows;
  }

  /** Makes the call within a span. `span`: that of the caller's call, if it is traced. */
  async around<T>(
    span: TraceSpan | undefined,
    key: SessionKey,
    call: () => Promise<T>,
    answerOf: (result: T) => InputReceipt,
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

  /** Reports the outcome of an input, from the events of its session. */
  settled(key: SessionKey, { requestId, outcome }: InputReceipt): void {
    if (outcome === "queued") return;
    const { open, early } = this.#of(key);
    const id = idOf(key, requestId);
    const receipt = open.get(id);
    open.delete(id);
    if (receipt === undefined) early.set(id, outcome);
    else end(receipt, outcome);
  }

  #answered(receipt: TraceSpan, key: SessionKey, { requestId, outcome }: InputReceipt): void {
    receipt.set({ "gastown.request": requestId });
    const { open, early } = this.#of(key);
    const id = idOf(key, requestId);
    const known = early.get(id);
    if (outcome !== "queued" || known !== undefined || !this.#follows) {
      end(receipt, known ?? outcome);
      return;
    }
    open.get(id)?.end();
    open.set(id, receipt);
    if (open.size <= MAX_OPEN) return;
    const [oldest] = open;
    if (oldest === undefined) return;
    open.delete(oldest[0]);
    end(oldest[1], "queued");
  }

  #of({ project }: SessionKey): Waiting {
    const waiting = this.#projects.get(project) ?? { open: new Map(), early: new BoundedMap(MAX_OPEN) };
    this.#projects.set(project, waiting);
    return waiting;
  }
}

function idOf({ id }: SessionKey, requestId: string): string {
  return JSON.stringify([id, requestId]);
}

function end(receipt: TraceSpan, outcome: NudgeOutcome): void {
  receipt.set({ "gastown.outcome": outcome });
  receipt.end();
}
