import { randomUUID } from "node:crypto";

const TRACEPARENT = /^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The trace id in a `traceparent`; without a valid one, a random UUID. */
export function correlationIdOf(traceparent: unknown): string {
  const trace = typeof traceparent === "string" ? TRACEPARENT.exec(traceparent)?.[1] : undefined;
  return trace ?? randomUUID();
}
