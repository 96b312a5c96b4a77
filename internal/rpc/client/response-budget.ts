import { type ClientHttp2Stream, constants, type Http2Session } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";

/** The first bytes of each message are not counted, so that small messages arrive however much the large ones hold. */
const FREE_BYTES = 64 * 1024;
const PREFIX_BYTES = 5;

/**
 * Bounds the memory that partly received messages of one or several servers may hold. Without it, many large responses
 * at a time, each within its own limit, would exhaust the memory of a client shared by many.
 */
export class ResponseBudget {
  readonly #maxBytes: number;
  readonly #all: ResponseBudget | undefined;
  readonly #seen = new WeakSet<Http2Session>();
  #heldBytes = 0;

  /** `all`: a second budget, in which everything that is counted here is also counted. */
  constructor(maxBytes: number, all?: ResponseBudget) {
    this.#maxBytes = maxBytes;
    this.#all = all;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Takes bytes; a negative number gives bytes back. @throws ConnectError `resource_exhausted`, taking nothing */
  take(bytes: number): void {
    if (bytes > 0 && this.#heldBytes + bytes > this.#maxBytes) {
      throw new ConnectError("too many large answers at a time", Code.ResourceExhausted);
    }
    this.#all?.take(bytes);
    this.#heldBytes += bytes;
  }

  /**
   * Counts the response of a call while it is read, until its stream closes. The reader gets the error of `take`.
   * `isFramed`: the response is a stream of messages, not one message.
   */
  count(stream: ClientHttp2Stream, isFramed: boolean): void {
    if (stream.session && !this.#seen.has(stream.session)) this.#adopt(stream.session);
    const iterator = stream.iterator.bind(stream);
    const part = isFramed ? new OpenMessage() : new OneMessage();
    let held = 0;
    const hold = (bytes: number) => {
      const counted = Math.max(0, bytes - FREE_BYTES);
      this.take(counted - held);
      held = counted;
    };
    stream.once("close", () => hold(0));
    stream.iterator = async function* (options): AsyncGenerator<Buffer, undefined, undefined> {
      for await (const chunk of iterator(options) as AsyncIterable<Buffer>) {
        if (!stream.closed) hold(part.heldAfter(chunk));
        yield chunk;
      }
    };
    stream[Symbol.asyncIterator] = stream.iterator;
  }

  /**
   * Ends a connection whose server sends ORIGIN frames: Node keeps each origin until the connection ends. Our servers
   * send none.
   */
  #adopt(session: Http2Session): void {
    this.#seen.add(session);
    const named = new ConnectError("the server sent an ORIGIN frame", Code.Unavailable);
    session.once("origin", () => session.destroy(named, constants.NGHTTP2_CANCEL));
  }
}

/** A unary response: the whole body is one message. */
class OneMessage {
  #bytes = 0;

  heldAfter(chunk: Buffer): number {
    this.#bytes += chunk.length;
    return this.#bytes;
  }
}

/** The received part of the current message of a stream. */
class OpenMessage {
  #prefix = Buffer.alloc(0);
  /** Length of the message whose prefix has arrived. */
  #wanted = 0;
  #got = 0;

  heldAfter(chunk: Buffer): number {
    for (let rest = chunk; rest.length > 0; ) {
      if (this.#got < this.#wanted) {
        const size = Math.min(rest.length, this.#wanted - this.#got);
        this.#got += size;
        rest = rest.subarray(size);
        continue;
      }
      const size = Math.min(rest.length, PREFIX_BYTES - this.#prefix.length);
      this.#prefix = Buffer.concat([this.#prefix, rest.subarray(0, size)]);
      rest = rest.subarray(size);
      if (this.#prefix.length < PREFIX_BYTES) break;
      [this.#wanted, this.#got, this.#prefix] = [this.#prefix.readUInt32BE(1), 0, Buffer.alloc(0)];
    }
    return this.#got < this.#wanted ? this.#got : 0;
  }
}
