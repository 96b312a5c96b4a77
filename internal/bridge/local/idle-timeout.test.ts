import { describe, expect, it } from "vitest";
import {
  alice,
  clock,
  key,
  never,
  provider,
  sessions,
  startLocal,
  subscriber,
  useLocalSessions,
} from "../../../test/support/bridge/local-sessions-bed.ts";
import { settle } from "../../../test/support/fake-clock.ts";
import type { Dialog } from "../../session/types.ts";

useLocalSessions();

const TIMEOUT_MS = 60_000;
const reason = () => sessions.get(key())?.reason;

async function idleFor(ms: number): Promise<void> {
  await clock.advance(ms);
  await settle();
}

describe("a session is stopped as idle", () => {
  it("after its agent has been idle without input for the timeout, counted from the end of its turn", async () => {
    await startLocal();
    const [agent] = provider.agents;
    agent?.say({ type: "phase", state: "busy" });
    await idleFor(10 * TIMEOUT_MS);
    expect(reason()).toBe(""); // a test run that prints nothing
    agent?.say({ type: "phase", state: "idle" });
    await idleFor(TIMEOUT_MS - 1000);
    expect(reason()).toBe("");
    await idleFor(1000);
    expect(reason()).toBe("IdleTimeout");
  });

  it("not while a dialog waits for a person", async () => {
    await startLocal();
    const dialog: Dialog = { id: "d1", kind: "permission", title: "Run?", text: "rm", choices: [], since: 0 };
    provider.agents[0]?.say({ type: "dialog-opened", dialog });
    await idleFor(10 * TIMEOUT_MS);
    expect(reason()).toBe("");
    provider.agents[0]?.say({ type: "dialog-closed", dialog }, { type: "phase", state: "idle" });
    await idleFor(TIMEOUT_MS);
    expect(reason()).toBe("IdleTimeout");
  });

  it("not while someone reads its events live", async () => {
    await startLocal();
    const leave = new AbortController();
    const feed = await sessions.events(key(), { subscriber: "", epoch: "" }, alice, never);
    const reading = feed.pipe(subscriber(), leave.signal).catch(() => {});
    await idleFor(10 * TIMEOUT_MS);
    expect(reason()).toBe("");
    leave.abort();
    await reading;
    await idleFor(TIMEOUT_MS);
    expect(reason()).toBe("IdleTimeout");
  });
});
