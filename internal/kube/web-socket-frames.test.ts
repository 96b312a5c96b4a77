import { describe, expect, it } from "vitest";
import { clientFrame, FrameReader, OPCODES } from "./web-socket-frames.ts";

/** What a server sends: the same without a mask. */
function serverFrame(opcode: number, payload: Buffer, first = 0x80 | opcode): Buffer {
  const { length } = payload;
  if (length < 126) return Buffer.concat([Buffer.of(first, length), payload]);
  const head = length < 65_536 ? Buffer.alloc(4) : Buffer.alloc(10);
  head[0] = first;
  head[1] = length < 65_536 ? 126 : 127;
  if (length < 65_536) head.writeUInt16BE(length, 2);
  else head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

describe("frames of a server", () => {
  const payloads = [0, 1, 125, 126, 65_535, 65_536, 200_000].map((length) => Buffer.alloc(length, length % 251));
  const bytes = Buffer.concat(payloads.map((payload) => serverFrame(OPCODES.binary, payload)));

  it.each([1, 7, 4096, bytes.length])("are read whole from pieces of %d bytes", (size) => {
    const reader = new FrameReader();
    const read: Buffer[] = [];
    // Byte by byte only through the first heads: the rest is what a long payload looks like at any size.
    const until = size === 1 ? 300 : 0;
    for (let at = 0; at < until; at++)
      read.push(...reader.push(bytes.subarray(at, at + 1)).map(({ payload }) => payload));
    const step = Math.max(size, 1000);
    for (let at = until; at < bytes.length; at += step)
      read.push(...reader.push(bytes.subarray(at, at + step)).map(({ payload }) => Buffer.from(payload)));
    expect(read.map(({ length }) => length)).toEqual(payloads.map(({ length }) => length));
    expect(Buffer.concat(read).equals(Buffer.concat(payloads))).toBe(true);
  });

  it.each([
    ["a mask", Buffer.of(0x82, 0x80)],
    ["an extension", Buffer.of(0xc2, 0)],
    ["a length that nothing holds", Buffer.of(0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0)],
  ])("are refused with %s", (_, bad) => {
    expect(() => new FrameReader().push(bad)).toThrow(expect.objectContaining({ kind: "unavailable" }));
  });
});

it.each([0, 125, 126, 70_000])("masks a client's message of %d bytes", (length) => {
  const payload = Buffer.from(Array.from({ length }, (_, i) => i % 256));
  const frame = clientFrame(OPCODES.binary, payload);
  const extra = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  expect([frame[0], (frame[1] ?? 0) & 0x80]).toEqual([0x82, 0x80]);
  const mask = frame.subarray(2 + extra, 6 + extra);
  const body = frame.subarray(6 + extra).map((byte, i) => byte ^ (mask[i % 4] ?? 0));
  expect(Buffer.from(body).equals(payload)).toBe(true);
});
