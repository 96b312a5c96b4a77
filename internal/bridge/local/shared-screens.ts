import { BinaryReader } from "@bufbuild/protobuf/wire";
import { SignalBus } from "../../base/signal-bus.ts";
import { type SidecarWatchRequest, UpdateKind } from "../../gen/gastown/v1/sidecar_pb.ts";
import type { EncodedMessage } from "../session-backend.ts";

/** Opens a stream of the sidecar; aborting the signal ends it. */
type Open = (request: SidecarWatchRequest, signal: AbortSignal) => AsyncIterable<EncodedMessage>;

/** Field `kind` of `SidecarOutputUpdate`. */
const KIND_FIELD = 4;
/** Appended to an update, makes it a snapshot: if a field occurs twice, its last value counts. */
const AS_SNAPSHOT = Uint8Array.of(KIND_FIELD << 3, UpdateKind.SNAPSHOT);

/**
 * Watchers of one session's screen. Watchers that want the same lines at the same rate share one stream of the sidecar,
 * which is open while any of them watches. Updates are passed on as encoded by the sidecar. A late watcher begins with
 * the last picture; a slow one gets the newest picture when it is ready for it, and does not delay the others.
 */
export class SharedScreens {
  readonly #open: Open;
  readonly #shares = new Map<string, Share>();

  constructor(open: Open) {
    this.#open = open;
  }

  /** Yields a snapshot first and the `end` last. @throws the error of the sidecar's stream; the signal's reason */
  async *watch(request: SidecarWatchRequest, signal: AbortSignal): AsyncGenerator<EncodedMessage, void, undefined> {
    const key = `${Math.max(0, request.lines)} ${Math.max(0, request.intervalMs)} ${request.ansi}`;
    const share = this.#shares.get(key) ?? this.#begin(key, request);
    share.readers++;
    try {
      yield* share.read(signal);
    } finally {
      if (--share.readers === 0) share.stop.abort();
      if (share.readers === 0 && this.#shares.get(key) === share) this.#shares.delete(key);
    }
  }

  #begin(key: string, request: SidecarWatchRequest): Share {
    const share = new Share();
    this.#shares.set(key, share);
    void share.follow(this.#open(request, share.stop.signal)).finally(() => {
      if (this.#shares.get(key) === share) this.#shares.delete(key);
    });
    return share;
  }
}

interface Numbered {
  readonly payload: EncodedMessage;
  readonly seq: number;
}

/** One stream of a sidecar. Keeps its last picture and its last update. */
class Share {
  readers = 0;
  readonly stop = new AbortController();
  readonly #grown = new SignalBus();
  #picture: Numbered | undefined;
  /** The last update of any kind. */
  #last: Numbered | undefined;
  /** The stream has ended; `error`: why it failed. */
  #over: { readonly error?: unknown } | undefined;

  async follow(updates: AsyncIterable<EncodedMessage>): Promise<void> {
    try {
      for await (const payload of updates) {
        const update = { payload, seq: (this.#last?.seq ?? 0) + 1 };
        this.#last = update;
        if (isPicture(payload)) this.#picture = update;
        this.#grown.notify();
      }
      this.#over = {};
    } catch (error) {
      this.#over = { error };
    }
    this.#grown.notify();
  }

  async *read(signal: AbortSignal): AsyncGenerator<EncodedMessage, void, undefined> {
    let seen = 0;
    for (;;) {
      signal.throwIfAborted();
      const [picture, last] = [this.#picture, this.#last];
      if (picture !== undefined && picture.seq > seen) {
        yield seen === 0 && picture.seq > 1 ? asSnapshot(picture.payload) : picture.payload;
        seen = picture.seq;
      } else if (last !== undefined && last.seq > seen && (seen > 0 || picture === undefined)) {
        seen = last.seq;
        yield last.payload;
      } else if (this.#over !== undefined) {
        if ("error" in this.#over) throw this.#over.error;
        return;
      } else await this.#grown.next(signal);
    }
  }
}

/** Reads the kind without decoding the screen, which is most of the message. */
function isPicture(payload: EncodedMessage): boolean {
  const reader = new BinaryReader(payload);
  let kind = 0;
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === KIND_FIELD) kind = reader.int32();
    else reader.skip(type);
  }
  return kind === UpdateKind.SNAPSHOT || kind === UpdateKind.CHANGE;
}

function asSnapshot(payload: EncodedMessage): EncodedMessage {
  const bytes = new Uint8Array(payload.length + AS_SNAPSHOT.length);
  bytes.set(payload);
  bytes.set(AS_SNAPSHOT, payload.length);
  return bytes;
}
