import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { raceSignal } from "../../base/abort.ts";
import { DomainError } from "../../base/errors.ts";
import type { Actor, SessionTerminal } from "../../bridge/session-backend.ts";
import {
  type SidecarEvent,
  SidecarEventSchema,
  type SidecarStreamEventsRequest,
} from "../../gen/gastown/v1/sidecar_pb.ts";
import type { FrameTarget, StreamFrame } from "../../rpc/server/frames.ts";
import { SharedEvents } from "./shared-events.ts";

const KEY = { id: "one", project: "shop", provider: "demo" };
const EPOCH = "e1";

/** A sidecar under its agent's control: it sends what the test says, on each stream alike. */
class HostileSidecar {
  /** The number of streams that were requested. */
  streams = 0;
  #sent: Uint8Array[] = [];
  #more = Promise.withResolvers<void>();

  send(...events: readonly (Partial<SidecarEvent> & { readonly seq: bigint })[]): void {
    const whole = events.map((each) => ({ epoch: EPOCH, ...each }) as SidecarEvent);
    this.#sent.push(...whole.map((each) => toBinary(SidecarEventSchema, create(SidecarEventSchema, each))));
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }

  readonly terminal = {
    unary: () =>
      Promise.reject(new DomainError("precondition", "another epoch", { fields: { epoch: EPOCH, head: "9" } })),
    stream: (_: unknown, __: SidecarStreamEventsRequest, ___: Actor, signal: AbortSignal) => this.#stream(signal),
  } as unknown as SessionTerminal;

  async *#stream(signal: AbortSignal) {
    this.streams++;
    for (let i = 0; ; i++) {
      for (let sent = this.#sent[i]; sent === undefined; sent = this.#sent[i])
        await raceSignal(this.#more.promise, signal);
      yield this.#sent[i] as Uint8Array;
    }
  }
}

/** A caller's stream that fails if it is asked too often whether it accepts more. */
class Target implements FrameTarget {
  readonly got: string[] = [];
  #looks = 0;

  get backlog(): number {
    if (++this.#looks > 1_000) throw new Error("the stream makes no progress");
    return 0;
  }

  send(frame: StreamFrame): void {
    this.got.push(`${fromBinary(SidecarEventSchema, frame.bytes(false).subarray(5)).seq}`);
  }

  onDrain(): void {}
}

describe("events that a hostile sidecar sends", () => {
  let shared: SharedEvents;
  let sidecar: HostileSidecar;
  let stop: AbortController;
  beforeEach(() => {
    [shared, sidecar, stop] = [new SharedEvents(new FakeClock()), new HostileSidecar(), new AbortController()];
  });
  afterEach(async () => {
    stop.abort(new DomainError("cancelled", "left"));
    await shared[Symbol.asyncDispose]();
  });

  const session = () => ({ uid: "pod", key: KEY, terminal: () => sidecar.terminal, isLive: true });
  function read(after: bigint): { readonly target: Target; readonly ended: Promise<unknown> } {
    const target = new Target();
    const feed = shared.feed(session(), { subscriber: "", epoch: EPOCH, after }, { identity: "ann", role: "read" });
    const ended = feed.pipe(target, stop.signal).then(
      () => "end",
      (err: unknown) => err,
    );
    return { target, ended };
  }
  const rest = async () => {
    for (let i = 0; i < 30; i++) await settle();
  };

  it("that skip numbers without a gap do not block their readers or others", async () => {
    const first = read(9n);
    await rest();
    sidecar.send({ seq: 20n }, { seq: 21n }, { seq: 30n });
    await rest();
    const second = read(21n);
    let outcome: unknown = "goes on";
    void second.ended.then((how) => {
      outcome = how;
    });
    await rest();
    expect(outcome).toBe("goes on");
    expect(second.target.got).toEqual(["20", "21", "30"]);
    expect(first.target.got.at(-1)).toBe("30");
    expect(sidecar.streams).toBeLessThan(5);
  });

  it("that repeat, or follow a gap of numbers that were sent, are not shared", async () => {
    const told: bigint[] = [];
    const listening = shared.listen(session(), ({ seq }) => told.push(seq), stop.signal).catch(() => {});
    await rest();
    const gap = { first: 1n, to: 11n, reason: 1 } as SidecarEvent["gap"];
    sidecar.send({ seq: 10n }, { seq: 11n }, { seq: 10n }, { seq: 9n, gap }, { seq: 10n }, { seq: 12n });
    await rest();
    expect(told).toEqual([10n, 11n, 12n]);
    const { target } = read(10n);
    await rest();
    expect(target.got.at(-1)).toBe("12");
    stop.abort(new DomainError("cancelled", "left"));
    await listening;
  });
});
