import { expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import type { Caller, SessionBackend, SessionInfo } from "../session-backend.ts";
import { SessionChanges } from "../session-changes.ts";
import { SessionsWatch } from "./sessions-watch.ts";

const caller: Caller = { identity: "shop/ann", role: "read" };
const session = (id: string) => ({ project: "shop", id, status: "stopped" }) as SessionInfo;

it("tells readers of sessions with certain labels that one of them is gone, and of no other", async () => {
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
