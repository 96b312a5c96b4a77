import { z } from "zod";

const turn = z.string().max(64);
const path = z.string();

/** A record of the back's journal, one line. */
const backRecord = z.discriminatedUnion("type", [
  z.object({ type: z.literal("turn"), turn, at: z.string(), thread: z.string(), input: z.string() }),
  z.object({
    ...{ type: z.literal("decision"), turn, route: z.enum(["answer", "customer"]) },
    ...{ rule: z.union([z.int(), z.string()]), reason: z.string() },
  }),
  z.object({
    ...{ type: z.literal("read"), turn, path, ok: z.boolean() },
    ...{ reason: z.string().optional(), bytes: z.int().optional() },
  }),
  /** Written before a text leaves. Without a later record the text may or may not have reached the front. */
  z.object({
    ...{ type: z.literal("intended"), turn, crossing: z.string(), thread: z.string() },
    ...{ bytes: z.int(), sha256: z.string() },
  }),
  z.object({
    ...{ type: z.literal("receipt"), turn, crossing: z.string() },
    ...{ outcome: z.enum(["SUBMITTED", "REFUSED", "UNKNOWN"]), reason: z.string().optional() },
  }),
  /** The customer agent's answer to a crossing; untrusted. */
  z.object({ type: z.literal("reply"), turn, text: z.string() }),
  z.object({ type: z.literal("answer"), turn, text: z.string() }),
  z.object({
    ...{ type: z.literal("end"), turn, outcome: z.enum(["done", "refused", "failed", "unknown", "interrupted"]) },
    ...{ withheld: z.array(z.object({ channel: z.string(), bytes: z.int() })) },
  }),
  /** The thread's earlier turns are forgotten, because there were too many threads. */
  z.object({ type: z.literal("forgotten"), turn, at: z.string(), thread: z.string() }),
]);

export type BackRecord = z.infer<typeof backRecord>;

/** Undefined for a value that is not a record. */
export function parseBackRecord(value: unknown): BackRecord | undefined {
  const parsed = backRecord.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}

/** How a turn ended. */
export type TurnOutcome = Exclude<Extract<BackRecord, { type: "end" }>["outcome"], "interrupted">;
