import { describe, expect, it } from "vitest";
import { fc } from "../../../test/support/property.ts";
import { RawRing } from "./raw-ring.ts";

const bytes = (text: string) => Buffer.from(text);
const read = (ring: RawRing, offset: bigint, limit = 1000) => {
  const data = ring.read(offset, limit);
  return data === undefined ? undefined : Buffer.from(data).toString();
};

describe("a raw ring", () => {
  it("starts empty at the given offset", () => {
    const ring = new RawRing(100, 7n);
    expect([ring.start, ring.end]).toEqual([7n, 7n]);
    expect(read(ring, 7n)).toBe("");
    expect(read(ring, 6n)).toBeUndefined();
    expect(read(ring, 8n)).toBeUndefined();
  });

  it("returns bytes from any offset that it holds, at most as many as requested", () => {
    const ring = new RawRing(100, 10n);
    ring.push(bytes("hello "));
    ring.push(bytes(""));
    ring.push(bytes("there"));
    expect(read(ring, 10n)).toBe("hello there");
    expect(read(ring, 13n, 4)).toBe("lo t");
    expect(ring.end).toBe(21n);
  });

  it("drops the oldest bytes first, and reports it", () => {
    const ring = new RawRing(8000);
    for (let i = 0; i < 4; i++) ring.push(Buffer.alloc(3000, i));
    expect([ring.start, ring.end]).toEqual([6000n, 12_000n]);
    expect(ring.read(5999n, 10)).toBeUndefined();
    expect(ring.read(6000n, 1)?.[0]).toBe(2);
  });

  it("drops a chunk that is larger than itself", () => {
    const ring = new RawRing(10);
    ring.push(bytes("a".repeat(11)));
    expect([ring.start, ring.end]).toEqual([11n, 11n]);
    expect(read(ring, 0n)).toBeUndefined();
  });

  it("uses little more memory than it holds, however small the chunks are", () => {
    const ring = new RawRing(1024 * 1024);
    const kept = new Set<ArrayBufferLike>();
    for (let i = 0; i < 20_000; i++) ring.push(bytes("x".repeat(1 + ((i * 37) % 200))));
    for (let at = ring.start; at < ring.end; ) {
      const data = ring.read(at, Number.MAX_SAFE_INTEGER) as Uint8Array;
      kept.add(data.buffer);
      at += BigInt(data.length);
    }
    const held = Number(ring.end - ring.start);
    const taken = [...kept].reduce((all, { byteLength }) => all + byteLength, 0);
    expect(taken / held).toBeLessThan(1.1);
  });

  it("does not change bytes that were read while it appends more", () => {
    const ring = new RawRing(100);
    for (const text of ["ab", "cd"]) ring.push(bytes(text));
    const before = ring.read(0n, 10) as Uint8Array;
    ring.push(bytes("ef"));
    expect(Buffer.from(before).toString()).toBe("abcd");
    expect(read(ring, 0n)).toBe("abcdef");
  });

  it("skips offsets that will never be delivered, only forwards, and keeps the bytes before", () => {
    const ring = new RawRing(100);
    ring.push(bytes("abc"));
    ring.skipTo(1n);
    expect(read(ring, 0n)).toBe("abc");
    ring.skipTo(9n);
    ring.push(bytes("def"));
    expect([ring.start, ring.end]).toEqual([0n, 12n]);
    expect(read(ring, 1n)).toBe("bc");
    for (const offset of [3n, 8n]) expect(read(ring, offset)).toBeUndefined();
    expect(read(ring, 9n)).toBe("def");
  });
});

type Step =
  | { readonly type: "push"; readonly length: number }
  | { readonly type: "skip"; readonly by: number }
  | { readonly type: "read"; readonly back: number; readonly limit: number };

const lengths = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 3000, max: 9000 }));
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: lengths.map((length) => ({ type: "push" as const, length })) },
  { weight: 1, arbitrary: fc.integer({ min: -5, max: 50 }).map((by) => ({ type: "skip" as const, by })) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("read" as const),
      back: fc.integer({ min: -3, max: 25_000 }),
      limit: fc.integer({ min: 1, max: 10_000 }),
    }),
  },
);

/** The byte at an offset, so that a wrong place shows as a wrong value. */
const byteAt = (offset: number) => (offset * 31 + (offset >> 8)) & 0xff;

it("equals an unbounded array of bytes after any pushes, skips and reads", () => {
  const CAPACITY = 16_000;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const ring = new RawRing(CAPACITY);
      let end = 0;
      const skipped = new Set<number>();
      for (const action of steps) {
        if (action.type === "push") {
          ring.push(Uint8Array.from({ length: action.length }, (_, i) => byteAt(end + i)));
          end += action.length;
        } else if (action.type === "skip") {
          for (let offset = end; offset < end + action.by; offset++) skipped.add(offset);
          ring.skipTo(BigInt(Math.max(0, end + action.by)));
          if (action.by >= 0) end += action.by;
        } else {
          const offset = end - action.back;
          if (offset >= 0) checkRead(ring, offset, action.limit, { end, skipped });
        }
        expect(ring.end).toBe(BigInt(end));
        const start = Number(ring.start);
        const held = end - start - [...skipped].filter((offset) => offset >= start).length;
        expect(held).toBeLessThanOrEqual(CAPACITY);
        // Chunks are dropped as a whole: at most one more than the bound requires.
        const lost = start - [...skipped].filter((offset) => offset < start).length;
        if (lost > 0) expect(held).toBeGreaterThan(CAPACITY - 9000 - 4096);
      }
    }),
    { numRuns: 300 },
  );
});

function checkRead(
  ring: RawRing,
  offset: number,
  limit: number,
  { end, skipped }: { readonly end: number; readonly skipped: ReadonlySet<number> },
): void {
  const data = ring.read(BigInt(offset), limit);
  const isHeld = BigInt(offset) >= ring.start && offset <= end && !skipped.has(offset);
  expect(data !== undefined).toBe(isHeld);
  if (data === undefined) return;
  expect(data.length).toBeLessThanOrEqual(limit);
  expect(data.length > 0).toBe(offset < end);
  data.forEach((byte, i) => {
    if (byte !== byteAt(offset + i)) throw new Error(`wrong byte at ${offset + i}`);
  });
}
