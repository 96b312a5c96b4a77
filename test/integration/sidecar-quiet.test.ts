import { describe, expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { NudgeMode } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";
import { tmuxPerson } from "../support/sidecar/tmux-person.ts";

const { QUEUED, SUBMITTED } = NudgeOutcome;
const WAIT_MS = 120_000;
const QUIET_MS = 20_000n;

const outcomeOf = async ({ client }: RunningSidecar, requestId: string) =>
  (await client.getNudge({ requestId })).outcome;
const typedAt = async ({ client }: RunningSidecar) => {
  const at = (await client.status({})).personInputAt;
  return at && Number(at.seconds);
};

describe.concurrent("a person in tmux itself", () => {
  it("delays a nudge by its quiet time after the last key, Enter included", async () => {
    await using sidecar = await startSidecar();
    await sidecar.untilState(AgentState.IDLE);
    using person = tmuxPerson(sidecar.stateDir);
    await person.sees("Type a message");
    person.type("by hand\r");
    await until("the person's text", WAIT_MS, async () => (await sidecar.taken()).length === 1 || undefined);
    const takenAt = Date.now();
    await until("the person's keys", WAIT_MS, () => typedAt(sidecar));
    await sidecar.untilState(AgentState.IDLE);
    const asked = { message: "patient", requestId: "patient", mode: NudgeMode.QUEUE, quietMs: QUIET_MS };
    expect((await sidecar.client.nudge(asked)).outcome).toBe(QUEUED);
    const submitted = async () => (await outcomeOf(sidecar, "patient")) === SUBMITTED || undefined;
    await until("the nudge", WAIT_MS, submitted);
    // The last key came before the person's text was taken, and tmux reports its time in whole seconds.
    const last = await typedAt(sidecar);
    expect((last ?? 0) * 1000).toBeLessThanOrEqual(takenAt);
    expect(Date.now() - (last ?? 0) * 1000).toBeGreaterThanOrEqual(Number(QUIET_MS));
    expect(await sidecar.taken()).toEqual(["by hand", "patient"]);
  });

  it("delays no nudge when read-only", async () => {
    await using sidecar = await startSidecar();
    await sidecar.untilState(AgentState.IDLE);
    using person = tmuxPerson(sidecar.stateDir, "-r");
    await person.sees("Type a message");
    person.type("nothing\r");
    const asked = { message: "at once", requestId: "at-once", mode: NudgeMode.QUEUE, quietMs: 600_000n };
    await sidecar.client.nudge(asked);
    await until("the nudge", WAIT_MS, async () => (await outcomeOf(sidecar, "at-once")) === SUBMITTED || undefined);
    expect(await typedAt(sidecar)).toBeUndefined();
    expect(await sidecar.taken()).toEqual(["at once"]);
  });
});
