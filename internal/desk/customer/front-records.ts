import { z } from "zod";

const turn = z.string().max(64);

/** A record of the front's journal, one line. */
const frontRecord = z.discriminatedUnion("type", [
  z.object({ type: z.literal("say"), turn, at: z.string(), thread: z.string(), user_input: z.string() }),
  z.object({
    ...{ type: z.literal("crossing"), turn, at: z.string(), thread: z.string() },
    ...{ id: z.string(), admin_input: z.string() },
  }),
  z.object({
    ...{ type: z.literal("read"), turn, path: z.string(), ok: z.boolean() },
    ...{ reason: z.string().optional(), bytes: z.int().optional() },
  }),
  z.object({ type: z.literal("answer"), turn, text: z.string() }),
  z.object({
    ...{ type: z.literal("end"), turn, outcome: z.enum(["done", "failed", "interrupted"]) },
    reason: z.string().optional(),
  }),
  /** The thread's earlier turns are forgotten, because there were too many threads. */
  z.object({ type: z.literal("forgotten"), turn, at: z.string(), thread: z.string() }),
]);

export type FrontRecord = z.infer<typeof frontRecord>;

/** Undefined for a value that is not a record. */
export function parseFrontRecord(value: unknown): FrontRecord | undefined {
  const parsed = frontRecord.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}
