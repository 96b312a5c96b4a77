import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BridgeBed, task } from "../support/relay/bridge-bed.ts";
import { until } from "../support/sidecar/sidecar.ts";

const TIMES = { timeout: 600_000 };
const PATIENCE_MS = 300_000;

let bed: BridgeBed;

beforeAll(async () => {
  bed = await BridgeBed.create(() => ({ sessions: { max_per_project: 40, max_global: 50 } }));
}, TIMES.timeout);
afterAll(() => bed?.[Symbol.asyncDispose]());

const success = (id: string) => expect.stringMatching(new RegExp(`^${id} success: [\\s\\S]*● `));
const count = (texts: readonly string[], text: string) => texts.filter((each) => each === text).length;

/** Grants the newest approval that a session was asked for, once there are `number` of them. */
async function grant({ coordinator }: BridgeBed, session: string, number: number): Promise<void> {
  const asked = await until(`approval ${number} of ${session}`, PATIENCE_MS, async () => {
    const found = await coordinator.stored("RELAY_EVENTS", `sessions.${session}.approvals`);
    return found.filter(({ body }) => body["type"] === "approval.requested")[number - 1];
  });
  const { approval_id } = asked.body["payload"] as { readonly approval_id: string };
  const answer = { id: `${approval_id}-a`, type: "approval.granted", payload: { approval_id } };
  await coordinator.js.publish(`sessions.${session}.approvals`, JSON.stringify(answer));
}

describe("a terminal behind a bridge gets each prompt exactly once", () => {
  it("when its relay is killed while it waits for leave, and the next asks for it again", TIMES, async () => {
    await using doomed = await bed.relay("leave-1", { leave: bed.role() });
    await bed.coordinator.work("leave", task("w1", "run: make", "leave"), { role: "leave" });
    await bed.isTaken("run: make");
    await until("the request", PATIENCE_MS, async () => {
      return (await bed.coordinator.stored("RELAY_EVENTS", "sessions.leave.approvals")).length > 0 || undefined;
    });
    doomed.child.kill("SIGKILL");
    await doomed.exited();
    await using survivor = await bed.relay("leave-2", { leave: bed.role() });
    await grant(bed, "leave", 2);
    expect(await bed.answers("leave", 1, "leave")).toEqual([success("w1")]);
    expect(count(await bed.taken(), "run: make")).toBe(1);
    expect(await survivor.stop()).toBe(0);
  });

  it("when its relay is asked to end in the middle of the turn", TIMES, async () => {
    await using first = await bed.relay("drain-1", { drain: bed.role() }, { drain_timeout: "0s" });
    await bed.coordinator.work("drain", task("w1", "run: drain", "drain"), { role: "drain" });
    await bed.isTaken("run: drain");
    expect(await first.stop()).toBe(7);
    const asked = await bed.coordinator.stored("RELAY_EVENTS", "sessions.drain.approvals");
    await using second = await bed.relay("drain-2", { drain: bed.role() });
    await grant(bed, "drain", asked.length + 1);
    expect(await bed.answers("drain", 1, "drain")).toEqual([success("w1")]);
    expect(count(await bed.taken(), "run: drain")).toBe(1);
    expect(await second.stop()).toBe(0);
  });
});
