import { randomBytes } from "node:crypto";
import { DomainError } from "../base/errors.ts";

/** What a frame is (RFC 6455 §5.2). */
export const OPCODES = { continuation: 0x0, text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa } as const;

export interface ServerFrame {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** Far above what a kubelet sends at once (32 KiB); all that an unfinished frame can cost. */
const MAX_PAYLOAD = 1024 * 1024;
const FIN = 0x80;
const MASKED = 0x80;

/** A whole message of a client as one frame: masked, as the protocol demands of clients. */
export function clientFrame(opcode: number, payload: Uint8Array): Buffer {
  const { length } = payload;
  const extra = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const head = 2 + extra;
  const frame = Buffer.allocUnsafe(head + 4 + length);
  frame[0] = FIN | opcode;
  frame[1] = MASKED | (extra === 0 ? length : extra === 2 ? 126 : 127);
  if (extra === 2) frame.writeUInt16BE(length, 2);
  if (extra === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  const mask = randomBytes(4);
  mask.copy(frame, head);
  const body = head + 4;
  for (let i = 0; i < length; i++) frame[body + i] = (payload[i] as number) ^ (mask[i & 3] as number);
  return frame;
}

/** Cuts the bytes that a server sends into frames. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  /** The frames that are complete now. @throws DomainError `unavailable` for bytes that are no frames of a server */
  push(chunk: Buffer): readonly ServerFrame[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames: ServerFrame[] = [];
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) frames.push(frame);
    return frames;
  }

  #next(): ServerFrame | undefined {
    const [first, second] = this.#rest;
    if (first === undefined || second === undefined) return undefined;
    if ((first & 0x70) !== 0 || (second & MASKED) !== 0) throw broken("a frame that no server may send");
    const extra = second === 126 ? 2 : second === 127 ? 8 : 0;
    if (this.#rest.length < 2 + extra) return undefined;
    const length =
      extra === 0 ? second : extra === 2 ? this.#rest.readUInt16BE(2) : Number(this.#rest.readBigUInt64BE(2));
    if (length > MAX_PAYLOAD) throw broken(`a frame of ${length} bytes`);
    const end = 2 + extra + length;
    if (this.#rest.length < end) return undefined;
    const payload = this.#rest.subarray(2 + extra, end);
    this.#rest = this.#rest.subarray(end);
    return { opcode: first & 0x0f, payload };
  }
}

function broken(what: string): DomainError {
  return new DomainError("unavailable", `the Kubernetes API sent ${what} over a web socket`);
}
