import { randomUUID } from "node:crypto";

const TRACEPARENT = /^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The trace that a caller names, else an id of this call alone. */
export function correlationIdOf(traceparent: unknown): string {
  const trace = typeof traceparent === "string" ? TRACEPARENT.exec(traceparent)?.[1] : undefined;
  return trace ?? randomUUID();
}
