import { beforeEach, describe, expect, it } from "vitest";
import { DomainError } from "../base/errors.ts";
import type { SpanAttributes, TraceSpan } from "../base/tracing.ts";
import { ReceiptSpans } from "./receipt-spans.ts";

const key = { project: "shop", id: "s1" };

let ended: SpanAttributes[];
function span(attributes: SpanAttributes = {}): TraceSpan {
  let all = attributes;
  return {
    ...{ traceparent: "", isRecording: true, child: (_name, _kind, more) => span(more) },
    set: (more) => {
      all = { ...all, ...more };
    },
    end: (error) => void ended.push({ ...all, ...(error !== undefined && { error }) }),
  };
}
const call = (spans: ReceiptSpans, requestId: string, outcome: "queued" | "submitted", session = key) =>
  spans.around(
    span(),
    session,
    async () => "answer",
    () => ({ requestId, outcome }),
  );
const outcomes = () => ended.map((one) => [one["gastown.request"], one["gastown.outcome"]]);

beforeEach(() => {
  ended = [];
});

describe("the span of a receipt", () => {
  it("ends with the answer that has the outcome, or later if the message was queued", async () => {
    const spans = new ReceiptSpans({ follows: true });
    expect(await call(spans, "r1", "submitted")).toBe("answer");
    await call(spans, "r2", "queued");
    expect(outcomes()).toEqual([["r1", "submitted"]]);
    spans.settled({ ...key, id: "another" }, { requestId: "r2", outcome: "expired" });
    spans.settled(key, { requestId: "r2", outcome: "queued" });
    spans.settled(key, { requestId: "r2", outcome: "expired" });
    expect(outcomes()).toEqual([
      ["r1", "submitted"],
      ["r2", "expired"],
    ]);
  });

  it("accepts a receipt that was reported before its call was answered", async () => {
    const spans = new ReceiptSpans({ follows: true });
    spans.settled(key, { requestId: "r1", outcome: "submitted" });
    await call(spans, "r1", "queued");
    expect(outcomes()).toEqual([["r1", "submitted"]]);
  });

  it("ends as queued if receipts are not reported, or if too many wait", async () => {
    await call(new ReceiptSpans({ follows: false }), "r1", "queued");
    expect(outcomes()).toEqual([["r1", "queued"]]);
    const spans = new ReceiptSpans({ follows: true });
    for (let i = 0; i <= 1000; i++) await call(spans, `q${i}`, "queued");
    expect(outcomes().slice(1)).toEqual([["q0", "queued"]]);
  });

  it("of one project is kept, however many wait in another", async () => {
    const spans = new ReceiptSpans({ follows: true });
    const theirs = { ...key, project: "desk" };
    await call(spans, "theirs", "queued", theirs);
    for (let i = 0; i <= 1000; i++) await call(spans, `q${i}`, "queued");
    for (let i = 0; i <= 1000; i++) spans.settled(key, { requestId: `early${i}`, outcome: "submitted" });
    spans.settled(theirs, { requestId: "theirs", outcome: "submitted" });
    expect(outcomes()).toEqual([
      ["q0", "queued"],
      ["theirs", "submitted"],
    ]);
  });

  it("ends with the kind of a failure, which reaches the caller unchanged", async () => {
    const failure = new DomainError("unavailable", "the text of a person");
    const failing = new ReceiptSpans({ follows: true }).around(
      span(),
      key,
      () => Promise.reject(failure),
      () => ({ requestId: "", outcome: "unknown" }),
    );
    await expect(failing).rejects.toBe(failure);
    expect(JSON.stringify(ended)).not.toContain("person");
    expect(ended).toMatchObject([{ error: "unavailable" }]);
  });
});
