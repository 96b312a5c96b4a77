import { describe, expect, it } from "vitest";
import { formatTraceparent, parseTraceparent, passingTracer } from "./tracing.ts";

const GOOD = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

describe("traceparent", () => {
  it("is read and written as specified by W3C Trace Context", () => {
    const parent = parseTraceparent(GOOD);
    expect(parent).toEqual({ traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7", flags: 1 });
    if (parent !== undefined) expect(formatTraceparent(parent)).toBe(GOOD);
  });

  it.for([
    undefined,
    "",
    GOOD.toUpperCase(),
    `${GOOD}\r\nx: y`,
    `${GOOD}-more`,
    GOOD.replace(/^00/, "ff"),
    GOOD.replace(/-4[0-9a-f]+/, `-${"0".repeat(32)}`),
    GOOD.replace("00f067aa0ba902b7", "0".repeat(16)),
  ])("is refused: %j", (text) => {
    expect(parseTraceparent(text)).toBeUndefined();
    expect(passingTracer.begin("call", text)).toBeUndefined();
  });

  it("is passed on unchanged if nothing is recorded", () => {
    const span = passingTracer.begin("call", GOOD);
    expect(span?.child("next", "client").traceparent).toBe(GOOD);
    expect(span?.isRecording).toBe(false);
  });
});
