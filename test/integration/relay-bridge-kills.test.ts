import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Slots } from "../../internal/base/slots.ts";
import { BridgeBed, task } from "../support/relay/bridge-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";

const TIMES = { timeout: 600_000 };

/** The steps of a turn after which the relay is killed. */
const POINTS = ["claimed", "pulled", "prompted", "asked", "answered", "published", "done", "acked"] as const;

let bed: BridgeBed;
const starting = new Slots(2);

beforeAll(async () => {
  bed = await BridgeBed.create(() => ({ sessions: { max_per_project: 40, max_global: 50 } }));
}, TIMES.timeout);
afterAll(() => bed?.[Symbol.asyncDispose]());

const success = (id: string) => expect.stringMatching(new RegExp(`^${id} success: [\\s\\S]*● `));
const count = (texts: readonly string[], text: string) => texts.filter((each) => each === text).length;

/** Grants the session's approval request number `count`, once it exists. */
async function grant(session: string, count: number): Promise<void> {
  await bed.decide(session, await bed.approval(session, count), "granted");
}

async function killedAt(point: string): Promise<void> {
  const config = await bed.configure(`at-${point}`, { [point]: bed.role() });
  await using doomed = await starting.hold(
    () => RelayProcess.start(bed.nats.url, { args: ["--config", config], env: { GT_RELAY_CRASH_AT: point } }),
    new AbortController().signal,
  );
  await bed.coordinator.work("at", task("w1", `one ${point}`, point), { role: point });
  await doomed.exited();
  expect(doomed.child.signalCode).toBe("SIGKILL");
}

describe("a terminal behind a bridge gets each prompt exactly once", () => {
  it("when its relay is killed after any step of a turn", TIMES, async () => {
    await Promise.all(POINTS.map(killedAt));
    await using survivor = await bed.relay("survivor", Object.fromEntries(POINTS.map((point) => [point, bed.role()])));
    for (const point of POINTS) await bed.coordinator.work("at", task("w2", `two ${point}`, point), { role: point });
    for (const point of POINTS) expect(await bed.answers("at", 2, point)).toEqual([success("w1"), success("w2")]);
    const taken = await bed.taken();
    for (const point of POINTS) expect([point, count(taken, `one ${point}`)]).toEqual([point, 1]);
    expect(await survivor.stop()).toBe(0);
  });

  it(
    "when its relay is killed while it waits for a permission, which the next relay requests again",
    TIMES,
    async () => {
      await using doomed = await bed.relay("leave-1", { leave: bed.role() });
      await bed.coordinator.work("leave", task("w1", "run: make", "leave"), { role: "leave" });
      await bed.isTaken("run: make");
      await bed.approval("leave", 1);
      doomed.child.kill("SIGKILL");
      await doomed.exited();
      await using survivor = await bed.relay("leave-2", { leave: bed.role() });
      await grant("leave", 2);
      expect(await bed.answers("leave", 1, "leave")).toEqual([success("w1")]);
      expect(count(await bed.taken(), "run: make")).toBe(1);
      expect(await survivor.stop()).toBe(0);
    },
  );

  it("when its relay is stopped in the middle of the turn", TIMES, async () => {
    await using first = await bed.relay("drain-1", { drain: bed.role() }, { drain_timeout: "0s" });
    await bed.coordinator.work("drain", task("w1", "run: drain", "drain"), { role: "drain" });
    await bed.isTaken("run: drain");
    expect(await first.stop()).toBe(7);
    const asked = await bed.coordinator.stored("RELAY_EVENTS", "sessions.drain.approvals");
    await using second = await bed.relay("drain-2", { drain: bed.role() });
    await grant("drain", asked.length + 1);
    expect(await bed.answers("drain", 1, "drain")).toEqual([success("w1")]);
    expect(count(await bed.taken(), "run: drain")).toBe(1);
    expect(await second.stop()).toBe(0);
  });

  it("when the bridge is killed in the middle of the turn", TIMES, async () => {
    await using relay = await bed.relay("bridge", { bridge: bed.role() });
    await bed.coordinator.work("bridge", task("w1", "run: bridge", "bridge"), { role: "bridge" });
    await bed.isTaken("run: bridge");
    await bed.killBridge();
    await bed.startBridge();
    await grant("bridge", 1);
    await bed.coordinator.work("bridge", task("w2", "after it", "bridge"), { role: "bridge" });
    expect(await bed.answers("bridge", 2, "bridge")).toEqual([success("w1"), success("w2")]);
    expect(count(await bed.taken(), "run: bridge")).toBe(1);
    expect(await relay.stop()).toBe(0);
  });
});

it("an agent over stdio gets a prompt at most once, and it is uncertain when the bridge is killed", TIMES, async () => {
  const args = (log: string) => ["--turn-ms", "600000", "--steps", "1", "--log", log];
  await using slow = await BridgeBed.create((folder) => ({
    ...{ sessions: { max_per_project: 1 }, providers: { demo: { args: args(folder.path("taken")) } } },
  }));
  const role = slow.role({ agent_opts: { mode: "stdio" } });
  await using relay = await slow.relay("stdio", { spoken: role }, { idle: "10m" });
  await slow.coordinator.work("stdio", task("w1", "one", "spoken"), { role: "spoken" });
  await slow.isTaken("one");
  // There is no room for another session until the bridge has lost this one.
  await slow.coordinator.work("other", task("w3", "three", "spoken"), { role: "spoken" });
  await slow.killBridge();
  await slow.startBridge();
  await slow.isTaken("three");
  expect(await slow.answers("stdio", 1, "spoken")).toEqual(["w1 failure: uncertain"]);
  await slow.coordinator.event("stdio", "work.uncertain");
  expect((await slow.taken()).toSorted()).toEqual(["one", "three"]);
  expect(relay.child.exitCode).toBeNull();
});
