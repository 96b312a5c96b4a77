import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { machineTime } from "../../../test/support/machine-time.ts";
import { raceSignal } from "../../base/abort.ts";
import { DomainError } from "../../base/errors.ts";
import { Redactor } from "../../base/redact.ts";
import type { Actor, SessionTerminal } from "../../bridge/session-backend.ts";
import {
  type SidecarAckEventsRequest,
  SidecarEventSchema,
  type SidecarStreamEventsRequest,
} from "../../gen/gastown/v1/sidecar_pb.ts";
import type { FrameTarget, StreamFrame } from "../../rpc/server/frames.ts";
import { type EventRecord, restoreEvents } from "../../session/event-records.ts";
import { SessionEvents } from "../../session/events.ts";
import { eventMessage } from "../../wire/event.ts";
import { inputSeq } from "./input-seq.ts";
import { SharedEvents } from "./shared-events.ts";
import { eventPosition } from "./sidecar-position.ts";

const caller: Actor = { identity: "shop/ann", role: "read" };
const SESSION = { sessionId: "one", projectId: "shop", provider: "demo" };
const KEY = { id: "one", project: "shop", provider: "claude-large" };
const never = new AbortController().signal;

/** A sidecar's log of events, its streams, and failures to inject. */
class Sidecar {
  readonly #clock: FakeClock;
  readonly #journal: EventRecord[] = [];
  readonly #cuts = new Set<AbortController>();
  events: SessionEvents;
  /** The callers that read, one for each open stream. */
  readonly readers: string[] = [];
  /** The owner that the sidecar's events name. */
  session = SESSION;
  hangs = false;

  constructor(clock: FakeClock) {
    this.#clock = clock;
    this.events = this.#log();
  }

  /** The serving half is killed and restarted: all streams break. */
  restart(): void {
    this.events = this.#log();
    for (const cut of this.#cuts) cut.abort(new DomainError("unavailable", "the connection was cut"));
  }

  print(from: number, to: number): void {
    for (let i = from; i <= to; i++) this.events.accepted({ requestId: `r${i}`, message: `m${i}`, acceptedAt: i });
  }

  readonly terminal = {
    unary: async (_: unknown, request: SidecarAckEventsRequest, __: Actor, signal: AbortSignal) => {
      const { subscriberId: subscriber, ackSeq, epoch } = request;
      if (this.hangs) return await raceSignal(new Promise(() => {}), signal);
      this.events.acknowledge({ owner: "", subscriber }, ackSeq, epoch);
    },
    stream: (_: unknown, request: SidecarStreamEventsRequest, { identity }: Actor, signal: AbortSignal) =>
      this.#stream(request, identity, signal),
  } as unknown as SessionTerminal;

  async *#stream({ afterSeq, epoch, subscriberId }: SidecarStreamEventsRequest, who: string, signal: AbortSignal) {
    const cut = new AbortController();
    this.#cuts.add(cut);
    this.readers.push(who);
    try {
      const from = { subscriber: subscriberId, owner: who, epoch, after: afterSeq };
      for await (const each of this.events.follow(from, AbortSignal.any([signal, cut.signal])))
        yield toBinary(SidecarEventSchema, create(SidecarEventSchema, eventMessage(each, this.session, 0)));
    } finally {
      this.#cuts.delete(cut);
      this.readers.splice(this.readers.indexOf(who), 1);
    }
  }

  #log(): SessionEvents {
    const keep = (record: EventRecord) => this.#journal.push(record) > 0;
    const deps = { clock: this.#clock, time: machineTime(this.#clock), redactor: new Redactor([]), keep };
    return new SessionEvents(deps, { eventBuffer: 5000, eventBytes: 1 << 22 }, restoreEvents(this.#journal));
  }
}

interface Wanted {
  readonly after?: { readonly seq: bigint; readonly epoch: string };
  readonly isLive?: boolean;
  readonly uid?: string;
}

/** A caller's stream; `stalled`: it reads nothing. */
class Reader implements FrameTarget {
  readonly got: string[] = [];
  /** The owners of the received events. */
  readonly whose = new Set<string>();
  readonly stop = new AbortController();
  readonly ended: Promise<unknown>;
  stalled = false;
  #onDrain: (() => void)[] = [];

  constructor(shared: SharedEvents, sidecar: Sidecar, { after, isLive = true, uid = "pod" }: Wanted = {}) {
    const from = { subscriber: "", epoch: after?.epoch ?? "", after: after?.seq };
    const feed = shared.feed({ uid, key: KEY, terminal: () => sidecar.terminal, isLive }, from, caller);
    this.ended = feed.pipe(this, this.stop.signal).then(
      () => "end",
      (err) => err,
    );
  }

  get backlog(): number {
    return this.stalled ? Number.POSITIVE_INFINITY : 0;
  }

  send(frame: StreamFrame): void {
    const { seq, gap, sessionId, projectId, provider } = fromBinary(SidecarEventSchema, frame.bytes(false).subarray(5));
    this.whose.add(`${projectId}/${sessionId} ${provider}`);
    this.got.push(gap === undefined ? `${seq}` : `gap ${gap.first}-${gap.to}`);
  }

  onDrain(fn: () => void): void {
    this.#onDrain.push(fn);
  }

  drain(): void {
    this.stalled = false;
    for (const fn of this.#onDrain.splice(0)) fn();
  }
}

/** Runs everything that can run now. */
async function rest(): Promise<void> {
  for (let i = 0; i < 30; i++) await settle();
}

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => `${from + i}`);

describe("the events of a session's sidecar", () => {
  let clock: FakeClock;
  let sidecar: Sidecar;
  let shared: SharedEvents;
  const readers: Reader[] = [];

  beforeEach(() => {
    clock = new FakeClock();
    sidecar = new Sidecar(clock);
    shared = new SharedEvents(clock);
  });
  afterEach(async () => {
    await shared[Symbol.asyncDispose]();
    await Promise.all(readers.splice(0).map(({ ended }) => ended));
    expect(clock.sleeping).toBe(0);
  });

  async function read(wanted: Wanted = {}): Promise<Reader> {
    const reader = new Reader(shared, sidecar, wanted);
    readers.push(reader);
    await rest();
    return reader;
  }

  it("are read over one stream by all readers that have caught up, wherever they started", async () => {
    sidecar.print(1, 3);
    const first = await read();
    const second = await read({ after: { seq: 2n, epoch: sidecar.events.epoch } });
    const third = await read({ after: { seq: 3n, epoch: sidecar.events.epoch } });
    sidecar.print(4, 6);
    await rest();
    expect([first.got, second.got, third.got]).toEqual([numbers(1, 6), numbers(3, 6), numbers(4, 6)]);
    expect(sidecar.readers).toEqual(["gt-controller"]);
  });

  it("continue, with the gap named, if the serving half is killed during the stream", async () => {
    const reader = await read();
    sidecar.print(1, 3);
    await rest();
    const second = await read({ after: { seq: 3n, epoch: sidecar.events.epoch } });
    sidecar.restart();
    sidecar.print(4, 5);
    await clock.advance(1000);
    await rest();
    // The new process reports the numbers that the one before may have assigned.
    const told = ["gap 4-258", "258", "259"];
    expect([reader.got, second.got]).toEqual([[...numbers(1, 3), ...told], told]);
    expect(sidecar.readers).toEqual(["gt-controller"]);
  });

  it("are read from the sidecar by a reader that falls behind the kept ones, each number once", async () => {
    const [slow, quick] = [await read(), await read()];
    sidecar.print(1, 1);
    await rest();
    slow.stalled = true;
    sidecar.print(2, 2500);
    await rest();
    await rest();
    slow.drain();
    await rest();
    expect(quick.got).toEqual(numbers(1, 2500));
    expect(slow.got).toEqual(numbers(1, 2500));
  });

  it("end with the session's last event, for current readers and for later ones", async () => {
    const live = await read();
    sidecar.print(1, 1);
    await rest();
    sidecar.events.stopped({ done: true });
    expect(await live.ended).toBe("end");
    const late = await read({ isLive: false });
    expect(await late.ended).toBe("end");
    expect([live.got, late.got]).toEqual([numbers(1, 2), numbers(1, 2)]);
  });

  it("are delivered immediately, over the stream that readers share, until the last one", async () => {
    sidecar.print(1, 3);
    await read();
    const told: string[] = [];
    const session = { uid: "pod", key: KEY, terminal: () => sidecar.terminal, isLive: true };
    const listening = shared.listen(session, ({ seq }) => told.push(`${seq}`), never);
    sidecar.print(4, 5);
    await rest();
    expect(told).toEqual(["4", "5"]);
    expect(sidecar.readers).toEqual(["gt-controller"]);
    sidecar.events.stopped({ done: true });
    await rest();
    await clock.advance(1_000);
    await listening;
    expect(told).toEqual(["4", "5", "6"]);
    const left = new AbortController();
    const leaving = shared.listen(session, () => {}, left.signal);
    left.abort(new DomainError("cancelled", "left"));
    await expect(leaving).rejects.toMatchObject({ kind: "cancelled" });
  });

  it("of many sessions are followed for a few at a time in each project", async () => {
    sidecar.hangs = true;
    const stop = new AbortController();
    const uids = Array.from({ length: 40 }, (_, i) => `pod-${i}`);
    const all = uids.map((uid) =>
      shared.listen({ uid, key: KEY, terminal: () => sidecar.terminal, isLive: true }, () => {}, stop.signal),
    );
    await rest();
    expect(shared.open).toBe(16);
    const other = new Sidecar(clock);
    const theirs = { uid: "other", key: { ...KEY, project: "desk" }, terminal: () => other.terminal, isLive: true };
    const told: string[] = [];
    all.push(shared.listen(theirs, ({ seq }) => told.push(`${seq}`), stop.signal));
    await rest();
    other.print(1, 1);
    await rest();
    expect(told).toEqual(["1"]);
    await clock.advance(2_000);
    await rest();
    expect(shared.open).toBe(33);
    const outcomes = Promise.allSettled(all);
    stop.abort(new DomainError("cancelled", "left"));
    expect((await outcomes).map(({ status }) => status)).toEqual(all.map(() => "rejected"));
  });

  it("are no longer read 30 s after the last reader", async () => {
    const reader = await read();
    sidecar.print(1, 1);
    await rest();
    reader.stop.abort(new Error("left"));
    await rest();
    expect([shared.open, sidecar.readers]).toEqual([1, ["gt-controller"]]);
    await clock.advance(30_000);
    expect([shared.open, sidecar.readers]).toEqual([0, []]);
  });

  it("cost one timer, however many readers have come and gone, and none once the pod is gone", async () => {
    for (let i = 0; i < 20; i++) {
      const reader = await read();
      reader.stop.abort(new Error("left"));
      await rest();
    }
    expect(clock.sleeping).toBe(1);
    shared.drop("pod");
    await rest();
    expect(clock.sleeping).toBe(0);
  });

  it("fail for all readers when the pod goes, or when the sidecar stays away", async () => {
    const first = await read();
    shared.drop("pod");
    expect(await first.ended).toMatchObject({ kind: "unavailable", message: "the session's pod is gone" });
    sidecar.print(1, 1);
    const second = await read();
    await rest();
    Object.assign(sidecar.terminal, {
      stream: async function* () {
        yield* [];
        throw new DomainError("unavailable", "refused");
      },
    });
    sidecar.restart();
    await clock.advance(16_000);
    expect(await second.ended).toMatchObject({ kind: "unavailable" });
  });

  it("belong to the session, whatever a hostile sidecar claims, for late and current readers", async () => {
    sidecar.session = { ...SESSION, sessionId: "victim", projectId: "desk" };
    sidecar.print(1, 3);
    const reader = await read();
    sidecar.print(4, 6);
    await rest();
    expect([reader.got, [...reader.whose]]).toEqual([numbers(1, 6), ["shop/one claude-large"]]);
  });

  it("fail if a hostile sidecar sends an invalid one", async () => {
    Object.assign(sidecar.terminal, {
      stream: async function* () {
        yield new Uint8Array([255, 255]);
      },
    });
    const reader = await read({ isLive: false });
    expect(await reader.ended).toMatchObject({ kind: "unavailable" });
  });

  it("of one hanging sidecar delay no other", async () => {
    const hung = new Sidecar(clock);
    hung.hangs = true;
    const stuck = new Reader(shared, hung);
    const other = new Reader(shared, sidecar, { uid: "other" });
    readers.push(stuck, other);
    sidecar.print(1, 2);
    await rest();
    expect(other.got).toEqual(numbers(1, 2));
    stuck.stop.abort(new Error("left"));
  });

  it("report their position, and the number of a new or earlier input", async () => {
    sidecar.print(1, 3);
    const before = await eventPosition(sidecar.terminal, never);
    expect(before).toEqual({ epoch: sidecar.events.epoch, head: 3n });
    sidecar.print(4, 6);
    expect(await inputSeq(sidecar.terminal, "r5", before, never)).toBe(5n);
    expect(await inputSeq(sidecar.terminal, "r2", before, never)).toBe(2n);
    expect(await inputSeq(sidecar.terminal, "r9", before, never)).toBe(0n);
    expect(sidecar.readers).toEqual([]);
  });
});
