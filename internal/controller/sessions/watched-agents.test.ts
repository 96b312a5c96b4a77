import { create } from "@bufbuild/protobuf";
import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { raceSignal } from "../../base/abort.ts";
import { EventType, NudgeOutcome, NudgeReceiptSchema } from "../../gen/gastown/v1/common_pb.ts";
import { type SidecarEvent, SidecarEventSchema } from "../../gen/gastown/v1/sidecar_pb.ts";
import type { SessionRecord } from "../pods/session-record.ts";
import type { EventsOf } from "./shared-events.ts";
import { WatchedAgents } from "./watched-agents.ts";

const event = (type: EventType, rest: object = {}) => create(SidecarEventSchema, { type, ...rest });

describe("the agents of a project with watchers", () => {
  let clock: FakeClock;
  let watched: WatchedAgents;
  let records: SessionRecord[];
  let changes: string[];
  /** The listeners to sidecars, by pod uid. */
  let streams: Map<string, { readonly hear: (event: SidecarEvent) => void; readonly end: () => void }>;

  const record = (id: string, project = "shop") =>
    ({ key: { id, project }, pod: { uid: `uid-${id}`, labels: {} } }) as unknown as SessionRecord;

  beforeEach(() => {
    clock = new FakeClock();
    records = [record("a"), record("b"), record("c", "desk")];
    changes = [];
    streams = new Map();
    watched = new WatchedAgents({
      ...{ clock, logger: silentLogger },
      events: {
        listen: async ({ uid }, hear, signal) => {
          const { promise, resolve } = Promise.withResolvers<void>();
          streams.set(uid, { hear, end: resolve });
          await raceSignal(promise, signal).finally(() => streams.delete(uid));
        },
      },
      pods: { all: () => records, get: ({ id }) => records.find(({ key }) => key.id === id) },
      isRunning: ({ key }) => key.id !== "b",
      eventsOf: ({ key, pod }) => ({ key, uid: pod.uid }) as EventsOf,
      onChanged: ({ key }, receipt) => changes.push(`${key.id} ${receipt?.outcome ?? "changed"}`),
    });
  });

  it("are followed once, while they run and someone watches", async () => {
    const [first, second] = [new AbortController(), new AbortController()];
    watched.watch("shop", first.signal);
    watched.watch("shop", second.signal);
    expect([...streams.keys()]).toEqual(["uid-a"]);
    records.push(record("d"));
    for (const each of records) watched.look(each);
    expect([...streams.keys()]).toEqual(["uid-a", "uid-d"]);
    first.abort();
    await settle();
    expect(streams.size).toBe(2);
    second.abort();
    await settle();
    expect(streams.size).toBe(0);
    watched.look(record("a"));
    expect(streams.size).toBe(0);
    expect(clock.sleeping).toBe(0);
  });

  it("report changes of state, dialogs and receipts, and no output", async () => {
    const stop = new AbortController();
    watched.watch("shop", stop.signal);
    const receipt = create(NudgeReceiptSchema, { requestId: "r", outcome: NudgeOutcome.SUBMITTED });
    for (const each of [
      event(EventType.STDOUT, { text: "x" }),
      event(EventType.PHASE_CHANGED),
      event(EventType.DIALOG_OPENED),
      event(EventType.NUDGE_RECEIPT, { receipt }),
    ])
      streams.get("uid-a")?.hear(each);
    expect(changes).toEqual(["a changed", "a changed", "a submitted"]);
    await watched[Symbol.asyncDispose]();
    expect(streams.size).toBe(0);
    stop.abort();
  });

  it("are followed again after their sidecar was away, unless they have ended", async () => {
    const stop = new AbortController();
    watched.watch("shop", stop.signal);
    streams.get("uid-a")?.end();
    await settle();
    expect(streams.size).toBe(0);
    await clock.advance(5_000);
    expect([...streams.keys()]).toEqual(["uid-a"]);
    streams.get("uid-a")?.end();
    records = [];
    await settle();
    await clock.advance(5_000);
    expect(streams.size).toBe(0);
    stop.abort();
    await settle();
    expect(clock.sleeping).toBe(0);
  });
});
