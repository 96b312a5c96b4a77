import { expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import type { Message, Principal } from "../domain/types.ts";
import type { ServiceDeps } from "./access.ts";
import { readMessages } from "./read.ts";

const caller = { workspace: "w", agent: "me" } as Principal;

/** Reads an inbox, for 5 s, that has the messages of `sent` once the time is over. */
async function readUntilLate(sent: readonly Partial<Message>[]) {
  const clock = new FakeClock();
  const inbox = async () => (clock.monotonicMs() >= 5000 ? sent : []);
  const reads = { inbox, unreadTotal: async () => 0, hasUnacknowledgedWake: async () => false };
  const tx = { mark: async () => 0, acknowledgeWakes: async () => {} };
  const store = {
    reads: () => reads,
    write: async (_: string, run: (at: object) => Promise<unknown>) => await run(tx),
  };
  const changes = { subscribe: () => ({ [Symbol.dispose]: () => {} }), publish: () => {} };
  const deps = { clock, store, changes } as unknown as ServiceDeps;
  const answer = readMessages(deps, caller, { wait_ms: 5000 }, new AbortController().signal);
  for (let i = 0; i < 10; i++) await clock.advance(1000);
  return await answer;
}

it("says that the time is over only if the last look found no news either", async () => {
  const at = { threadId: "t-1", seq: 1, createdAt: 0 };
  expect(await readUntilLate([{ ...at, sender: "other" }])).toMatchObject({ messages: [{ seq: 1 }], timed_out: false });
  expect(await readUntilLate([{ ...at, sender: "me" }])).toMatchObject({ messages: [{ seq: 1 }], timed_out: true });
  expect(await readUntilLate([])).toMatchObject({ messages: [], timed_out: true });
});
