import { EventEmitter } from "node:events";
import type { ClientHttp2Stream } from "node:http2";
import { describe, expect, it } from "vitest";
import { enveloped } from "./envelopes.ts";
import { ResponseBudget } from "./response-budget.ts";

const KIB = 1024;

/** An answer that arrives in these chunks. */
class Answer extends EventEmitter {
  closed = false;
  readonly #chunks: readonly Buffer[];

  constructor(...chunks: readonly Buffer[]) {
    super();
    this.#chunks = chunks;
  }

  async *iterator() {
    yield* this.#chunks;
  }

  close(): void {
    this.closed = true;
    this.emit("close");
  }
}

function counted(answer: Answer, budget: ResponseBudget, isFramed = false): AsyncIterator<Buffer> {
  const stream = answer as unknown as ClientHttp2Stream;
  budget.count(stream, isFramed);
  return stream[Symbol.asyncIterator]();
}

describe("the memory held by arriving answers", () => {
  const large = () => new Answer(Buffer.alloc(64 * KIB), Buffer.alloc(100 * KIB), Buffer.alloc(100 * KIB));

  it("is bounded: an answer that is too large fails, small ones do not, and there is room again when it is closed", async () => {
    const budget = new ResponseBudget(150 * KIB);
    const first = large();
    const reader = counted(first, budget);
    await reader.next();
    expect(budget.heldBytes).toBe(0);
    await reader.next();
    expect(budget.heldBytes).toBe(100 * KIB);
    await expect(reader.next()).rejects.toThrow("[resource_exhausted] too many large answers at a time");
    await counted(new Answer(Buffer.alloc(64 * KIB)), budget).next();
    first.close();
    expect(budget.heldBytes).toBe(0);
    const second = counted(large(), budget);
    for (let i = 0; i < 2; i++) await second.next();
    expect(budget.heldBytes).toBe(100 * KIB);
  });

  it("counts for one server and for all, and for neither if all have too much", async () => {
    const all = new ResponseBudget(150 * KIB);
    const [one, other] = [new ResponseBudget(150 * KIB, all), new ResponseBudget(150 * KIB, all)];
    const [a, b] = [counted(large(), one), counted(large(), other)];
    for (let i = 0; i < 2; i++) await a.next();
    await b.next();
    await expect(b.next()).rejects.toThrow("resource_exhausted");
    expect([one.heldBytes, other.heldBytes, all.heldBytes]).toEqual([100 * KIB, 0, 100 * KIB]);
  });

  it("is that of the incomplete message in a stream, however it is split", async () => {
    const bytes = Buffer.concat([enveloped(Buffer.alloc(100 * KIB)), enveloped(Buffer.alloc(0))]);
    const chunks = [bytes.subarray(0, 3), bytes.subarray(3, 90 * KIB), bytes.subarray(90 * KIB)];
    const budget = new ResponseBudget(1024 * KIB);
    const reader = counted(new Answer(...chunks, ...chunks), budget, true);
    const held: number[] = [];
    while (!(await reader.next()).done) held.push(budget.heldBytes);
    const open = 90 * KIB - 5 - 64 * KIB;
    expect(held).toEqual([0, open, 0, 0, open, 0]);
  });

  it("is released by a call whose reader has left", async () => {
    const budget = new ResponseBudget(1024 * KIB);
    const answer = large();
    const reader = counted(answer, budget);
    for (let i = 0; i < 3; i++) await reader.next();
    answer.close();
    expect(budget.heldBytes).toBe(0);
  });
});
