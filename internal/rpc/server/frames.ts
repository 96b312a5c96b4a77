import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";

/** Flags (none: uncompressed) and length. */
const ENVELOPE_BYTES = 5;

/** An encoded message of a stream, in its envelope. */
export interface StreamFrame {
  /** The caller must not modify the bytes. */
  bytes(isJson: boolean): Buffer;
}

/** Receives the messages of a streaming call; see `FrameSink`. */
export interface FrameTarget {
  /** Bytes that were sent and not yet taken by the connection. */
  readonly backlog: number;
  send(frame: StreamFrame): void;
  /** Calls `fn` once when the backlog has drained; never if the connection breaks first. */
  onDrain(fn: () => void): void;
}

/**
 * A message that is encoded once for all its receivers: the envelope is the same in gRPC, gRPC-Web and Connect, and an
 * uncompressed message is valid whatever was negotiated.
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

/** A message that arrived encoded and is forwarded undecoded; it is decoded only for callers that use JSON. */
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
