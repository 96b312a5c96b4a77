import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";

/** Flags (none: not compressed) and length. */
const ENVELOPE_BYTES = 5;

/** One message of a stream with its envelope, as it goes over the line. */
export interface StreamFrame {
  /** Must not be changed. */
  bytes(isJson: boolean): Buffer;
}

/** Where the messages of a streaming call go; see `FrameSink`. */
export interface FrameTarget {
  /** Bytes that were sent and that the connection has not taken yet. */
  readonly backlog: number;
  send(frame: StreamFrame): void;
  /** Calls `fn` once when the backlog is gone; never when the connection breaks first. */
  onDrain(fn: () => void): void;
}

/**
 * A message of a stream, encoded once for all who get it: its envelope is the same in gRPC, gRPC-Web and
 * Connect, and an uncompressed message is legal whatever was negotiated.
 */
export class Frame<Desc extends DescMessage = DescMessage> implements StreamFrame {
  readonly #schema: Desc;
  readonly #message: MessageInitShape<Desc>;
  #binary: Buffer | undefined;
  #json: Buffer | undefined;

  constructor(schema: Desc, message: MessageInitShape<Desc>) {
    this.#schema = schema;
    this.#message = message;
  }

  bytes(isJson: boolean): Buffer {
    if (isJson) this.#json ??= enveloped(Buffer.from(toJsonString(this.#schema, create(this.#schema, this.#message))));
    else this.#binary ??= enveloped(toBinary(this.#schema, create(this.#schema, this.#message)));
    return (isJson ? this.#json : this.#binary) as Buffer;
  }
}

/** A message that came encoded and is passed on unread; it is decoded for callers only who take JSON. */
export class EncodedFrame implements StreamFrame {
  readonly #schema: DescMessage;
  readonly #payload: Uint8Array;
  #binary: Buffer | undefined;
  #json: Buffer | undefined;

  constructor(schema: DescMessage, payload: Uint8Array) {
    this.#schema = schema;
    this.#payload = payload;
  }

  bytes(isJson: boolean): Buffer {
    if (isJson) this.#json ??= enveloped(Buffer.from(this.#text()));
    else this.#binary ??= enveloped(this.#payload);
    return (isJson ? this.#json : this.#binary) as Buffer;
  }

  #text(): string {
    return toJsonString(this.#schema, fromBinary(this.#schema, this.#payload));
  }
}

function enveloped(payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafeSlow(ENVELOPE_BYTES + payload.length);
  bytes.writeUInt8(0, 0);
  bytes.writeUInt32BE(payload.length, 1);
  bytes.set(payload, ENVELOPE_BYTES);
  return bytes;
}
