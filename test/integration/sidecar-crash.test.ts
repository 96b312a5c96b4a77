import { kill } from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { calmTime } from "../support/calm-time.ts";
import { demoCommand, type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";

/** `GT_CRASHES=100` is the number that the project promises; a part of it runs every time. */
const CRASHES = Number(process.env["GT_CRASHES"] ?? 12);
const BACK_WITHIN_MS = 1000;
/** The limit for each wait, on a machine that runs other tests. */
const LIMIT_MS = 60_000;
const CRASH_ON_SIGNAL = new URL("../fakes/crash-on-signal.ts", import.meta.url).pathname;

describe("a serving half that is killed under traffic", () => {
  it(
    `is back within a second each of ${CRASHES} times, and the same agent takes each message once`,
    async () => {
      await using sidecar = await startSidecar((dir) => ({
        command: demoCommand(dir, "--turn-ms", "20"),
      }));
      await sidecar.untilState(AgentState.IDLE);
      const { agentPid } = await sidecar.client.status({});
      const stop = new AbortController();
      const sent: string[] = [];
      const traffic = sendAll(sidecar, sent, stop.signal);
      const gaps: number[] = [];
      for (let i = 0; i < CRASHES; i++) {
        await new Promise((resolve) => setTimeout(resolve, 400 + 200 * (i % 11)));
        gaps.push(await crash(sidecar));
      }
      stop.abort();
      const outcomes = await traffic;
      const taken = await sidecar.taken();
      expect((await statusOf(sidecar)).agentPid).toBe(agentPid);
      expect(outcomes.length).toBeGreaterThan(CRASHES / 2);
      expect(new Set(taken).size).toBe(taken.length);
      for (const [text, outcome] of outcomes) {
        if (outcome === NudgeOutcome.SUBMITTED) expect(taken, text).toContain(text);
        else expect([text, outcome]).toEqual([text, NudgeOutcome.UNKNOWN]);
      }
      expect(Math.max(...gaps)).toBeLessThan(BACK_WITHIN_MS);
    },
    CRASHES * LIMIT_MS,
  );
});

describe("a serving half that is ended by", () => {
  const count = Math.max(2, Math.floor(Number(process.env["GT_CRASHES"] ?? 0)));
  let sidecar: RunningSidecar;
  beforeAll(async () => {
    sidecar = await startSidecar((dir) => ({
      command: demoCommand(dir, "--turn-ms", "20"),
      env: { NODE_OPTIONS: `--import=${CRASH_ON_SIGNAL}` },
    }));
  });
  afterAll(() => sidecar?.[Symbol.asyncDispose]());

  it.each([
    ["an error that nobody catches", "SIGUSR2"],
    ["a rejection that nobody handles", "SIGCONT"],
    ["its own heap's limit", "SIGWINCH"],
  ] as const)(
    `%s is back within a second each of ${count} times, with the same agent and every receipt`,
    async (_, signal) => {
      await sidecar.untilState(AgentState.IDLE);
      const before = await sidecar.client.status({});
      const takenBefore = (await sidecar.taken()).length;
      const gaps: number[] = [];
      for (let i = 0; i < count; i++) {
        const receipt = await sidecar.client.nudge({ message: `before ${signal} ${i}`, requestId: `${signal}-${i}` });
        expect(receipt.outcome).toBe(NudgeOutcome.SUBMITTED);
        await new Promise((resolve) => setTimeout(resolve, 1500)); // the next one has loaded its code by then
        gaps.push(await crash(sidecar, signal));
        const { agentPid, epoch } = await statusOf(sidecar);
        expect([agentPid, epoch]).toEqual([before.agentPid, before.epoch]);
        const again = await sidecar.client.getNudge({ requestId: `${signal}-${i}` });
        expect(again.outcome).toBe(NudgeOutcome.SUBMITTED);
      }
      expect((await sidecar.taken()).length - takenBefore).toBe(count);
      expect(Math.max(...gaps)).toBeLessThan(BACK_WITHIN_MS);
    },
    3 * count * LIMIT_MS,
  );
});

/** Ends the serving half and returns the time from its end to the next answer, in ms of a calm machine. */
async function crash(sidecar: RunningSidecar, signal: NodeJS.Signals = "SIGKILL"): Promise<number> {
  const pid = sidecar.servingPid();
  kill(pid, signal);
  await until("its end", LIMIT_MS, () => !isAlive(pid) || undefined);
  const passed = calmTime();
  await until("the serving half to be back", LIMIT_MS, async () => {
    const status = await statusOf(sidecar).catch(() => undefined);
    return status?.sessionAlive && sidecar.servingPid() !== pid ? status : undefined;
  });
  return passed();
}

function isAlive(pid: number): boolean {
  try {
    return kill(pid, 0);
  } catch {
    return false;
  }
}

function statusOf(sidecar: RunningSidecar) {
  return sidecar.client.status({}, { timeoutMs: 5000 });
}

/** Sends one message after the other, and calls again with its id until it has ended. */
async function sendAll(sidecar: RunningSidecar, sent: string[], stop: AbortSignal) {
  const outcomes: (readonly [string, NudgeOutcome])[] = [];
  while (!stop.aborted) {
    const message = `message ${sent.length} of the traffic`;
    sent.push(message);
    outcomes.push([message, await sendUntilEnded(sidecar, message, `crash-${sent.length}`)]);
  }
  return outcomes;
}

async function sendUntilEnded(sidecar: RunningSidecar, message: string, requestId: string): Promise<NudgeOutcome> {
  return await until(`an end of ${requestId}`, LIMIT_MS, async () => {
    try {
      const receipt = await sidecar.client.nudge({ message, requestId }, { timeoutMs: 5000 });
      return receipt.outcome === NudgeOutcome.QUEUED ? undefined : receipt.outcome;
    } catch {
      return undefined;
    }
  });
}
