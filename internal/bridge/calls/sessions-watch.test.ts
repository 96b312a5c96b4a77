import { create, toBinary } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { SidecarOutputUpdateSchema, SidecarStatusResponseSchema } from "../../gen/gastown/v1/sidecar_pb.ts";
import type { Actor, SessionBackend, SessionInfo } from "../session-backend.ts";
import { SessionChanges } from "../session-changes.ts";
import { SessionsWatch } from "./sessions-watch.ts";

const caller: Actor = { identity: "shop/ann", role: "read" };
const session = (id: string) => ({ project: "shop", id, status: "stopped" }) as SessionInfo;

it("shows as much of a screen as was requested, whatever a hostile sidecar sends", async () => {
  const changes = new SessionChanges();
  const stop = new AbortController();
  const running = { ...session("one"), status: "running" } as SessionInfo;
  const sent = ["x".repeat(4_000_000), "a\n".repeat(10_000)];
  const terminal = {
    unary: async () => create(SidecarStatusResponseSchema),
    stream: async function* () {
      for (const output of sent)
        yield toBinary(SidecarOutputUpdateSchema, create(SidecarOutputUpdateSchema, { output }));
      await new Promise((resolve) => stop.signal.addEventListener("abort", resolve));
    },
  };
  const backend: Partial<SessionBackend> = {
    list: () => [running],
    get: () => running,
    labelsOf: () => ({}),
    terminal: () => terminal as never,
    changes: (project, signal) => changes.read(project, signal),
  };
  const watch = new SessionsWatch(
    { clock: new FakeClock(), backend: backend as SessionBackend },
    { project: "shop", labels: {}, lines: 3, caller },
  );
  const shown: (readonly string[])[] = [];
  const reading = (async () => {
    for await (const { value } of watch.updates(stop.signal)) shown.push(value.screen);
  })().catch(() => {});
  for (let i = 0; i < 5; i++) await settle();
  expect(shown).toEqual([[], ["a", "a", "a"]]);
  stop.abort();
  await reading;
});

it("reports the end of sessions with the selected labels, and of no others", async () => {
  const labels = new Map([
    ["red", { colour: "red" }],
    ["blue", { colour: "blue" }],
  ]);
  const changes = new SessionChanges();
  const stop = new AbortController();
  const backend: Partial<SessionBackend> = {
    list: () => [...labels.keys()].map(session),
    get: ({ id }) => (labels.has(id) ? session(id) : undefined),
    labelsOf: ({ id }) => labels.get(id) ?? {}, // a pod that is gone has none
    changes: (project, signal) => changes.read(project, signal),
  };
  const watch = new SessionsWatch(
    { clock: new FakeClock(), backend: backend as SessionBackend },
    { project: "shop", labels: { colour: "red" }, lines: 0, caller },
  );
  const told: string[] = [];
  const reading = (async () => {
    for await (const { value } of watch.updates(stop.signal))
      told.push(`${value.session.id}${value.isGone ? " gone" : ""}`);
  })().catch(() => {});
  await settle();
  for (const id of ["blue", "red"]) {
    labels.delete(id);
    changes.tell({ type: "gone", session: session(id) });
  }
  await settle();
  expect(told).toEqual(["red", "red gone"]);
  stop.abort();
  await reading;
});

it("shows the other sessions at once if sidecars do not answer, and asks a few at a time", async () => {
  const changes = new SessionChanges();
  const clock = new FakeClock();
  const stop = new AbortController();
  const ids = [...Array.from({ length: 8 }, (_, i) => `dark-${i}`), "last"];
  const running = (id: string) => ({ ...session(id), status: "running" }) as SessionInfo;
  let asked = 0;
  const backend: Partial<SessionBackend> = {
    list: () => ids.map(running),
    get: ({ id }) => running(id),
    labelsOf: () => ({}),
    terminal: ({ id }) => {
      const silent = new Promise<never>((_, reject) =>
        stop.signal.addEventListener("abort", () => reject(new Error())),
      );
      const unary = async () => {
        asked++;
        return await (id === "last" ? create(SidecarStatusResponseSchema) : silent);
      };
      silent.catch(() => {});
      return { unary } as never;
    },
    changes: (project, signal) => changes.read(project, signal),
  };
  const deps = { clock, backend: backend as SessionBackend };
  const watch = new SessionsWatch(deps, { project: "shop", labels: {}, lines: 0, caller });
  const told: string[] = [];
  const reading = (async () => {
    for await (const { value, seq } of watch.updates(stop.signal)) told.push(`${seq} ${value.session.id}`);
  })().catch(() => {});
  await settle();
  expect(told).toEqual(["1 last"]);
  expect(asked).toBe(9);
  await clock.advance(2_000);
  expect(told).toHaveLength(9);
  expect(told.slice(1).map((each) => each.split(" ")[0])).toEqual(["2", "3", "4", "5", "6", "7", "8", "9"]);
  stop.abort();
  await reading;
});
