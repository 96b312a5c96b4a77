import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PODS, ReplicatedSessions, SECRETS } from "../../../test/support/cluster/replicated-sessions.ts";
import {
  caller,
  RETENTION_MS,
  type Replica,
  type ReplicaOptions,
  startOf,
  townCa,
} from "../../../test/support/cluster/session-replica.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { IssuingCa } from "../certificates/session-certificate.ts";
import { ANNOTATIONS } from "../pods/names.ts";
import { observePod } from "../pods/observed-pod.ts";

const never = new AbortController().signal;
/** More calls than any of the tested work makes; a run that has not completed by then fails. */
const MAX_CALLS = 30;

// Each test goes through a dozen clusters.
describe("a crash between any two calls", { timeout: 180_000 }, () => {
  let ca: IssuingCa;
  let town: ReplicatedSessions;

  beforeAll(async () => {
    ca = await townCa(new FakeClock().now());
  });
  beforeEach(() => {
    town = new ReplicatedSessions(ca);
  });
  afterEach(() => town.end());

  /**
   * The leader's work runs only in a leading replica, so that the calls of another replica are those of its callers.
   */
  const replica = (options: ReplicaOptions = {}) => town.replica({ keeps: options.leads ?? false, ...options });
  const settled = async (promise: Promise<unknown>) => (await town.settled(promise)).status;
  const pods = () => town.kube.list(PODS).map(observePod);
  const isWhole = () => pods().length === 1 && pods()[0]?.gates.length === 0 && town.kube.list(SECRETS).length === 1;
  const isGone = () => pods().length === 0 && town.kube.list(SECRETS).length === 0;
  const has = (annotation: string) => pods()[0]?.annotations[annotation] !== undefined;
  /** Every Secret belongs to an existing pod. */
  function expectNoOrphan(): void {
    const uids = pods().map(({ uid }) => uid);
    const owners = town.kube.list(SECRETS).map(({ metadata }) => metadata.ownerReferences?.[0]?.uid);
    expect(owners.filter((uid) => uid === undefined || !uids.includes(uid))).toEqual([]);
  }
  async function running(): Promise<Replica> {
    const first = await replica();
    await settled(first.sessions.start(startOf("one"), caller, never));
    town.runs();
    await town.advanceUntil(() => first.sessions.get(startOf("one"))?.status === "running");
    first.calls.length = 0;
    return first;
  }
  /**
   * Repeats `attempt` with a crash after 0, 1, 2, … calls, each in a new cluster, until one completes; returns its
   * number of calls.
   */
  async function eachCrash(attempt: (calls: number) => Promise<"through" | "crashed">): Promise<number> {
    for (let calls = 0; calls < MAX_CALLS; calls++) {
      const outcome = await attempt(calls);
      expectNoOrphan();
      await town.end();
      town = new ReplicatedSessions(ca);
      if (outcome === "through") return calls;
    }
    throw new Error(`not through after ${MAX_CALLS} calls`);
  }

  it("of StartSession leaves neither a duplicate nor an orphan: the leader or the next call completes it", async () => {
    const crashes = await eachCrash(async (calls) => {
      const first = await replica();
      first.calls.length = 0;
      first.callsLeft = calls;
      const outcome = await settled(first.sessions.start(startOf("one"), caller, never));
      await first.end();
      expectNoOrphan();
      const second = await replica({ leads: true });
      if (calls % 2 === 1 || pods().length === 0) {
        expect(await settled(second.sessions.start(startOf("one"), caller, never))).toBe("fulfilled");
      }
      await town.advanceUntil(isWhole);
      return outcome === "fulfilled" ? "through" : "crashed";
    });
    expect(crashes).toBeGreaterThanOrEqual(4); // the pod, a look at its Secret, the Secret, the gate
  });

  it("of StartSession near the limit does not exceed it", async () => {
    const crashes = await eachCrash(async (calls) => {
      const limit = { maxPerProject: 1 };
      const [first, other] = [await replica(limit), await replica(limit)];
      first.callsLeft = calls;
      const started = first.sessions.start(startOf("one"), caller, never);
      const also = other.sessions.start(startOf("two"), caller, never);
      const outcome = await settled(Promise.allSettled([started, also]).then(() => started));
      await Promise.all([first.end(), other.end()]);
      await replica({ ...limit, leads: true });
      await town.clock.advance(30_000);
      await town.advanceUntil(() => pods().every(({ gates }) => gates.length === 0) && pods().length <= 1);
      const isRefused = first.callsLeft > 0 && outcome === "rejected";
      return outcome === "fulfilled" || isRefused ? "through" : "crashed";
    });
    expect(crashes).toBeGreaterThan(2);
  });

  it("of the leader that completes a start leaves neither a duplicate nor an orphan", async () => {
    const crashes = await eachCrash(async (calls) => {
      const first = await replica();
      first.callsLeft = 1;
      await settled(first.sessions.start(startOf("one"), caller, never));
      await first.end();
      const second = await replica({ leads: true });
      second.calls.length = 0;
      second.callsLeft = calls;
      await town.advanceUntil(() => isWhole() || second.callsLeft < 0);
      const outcome = second.callsLeft < 0 ? "crashed" : "through";
      await second.end();
      await replica({ leads: true });
      await town.advanceUntil(isWhole);
      return outcome;
    });
    expect(crashes).toBeGreaterThanOrEqual(3);
  });

  it("of StopSession leaves no running session: the leader stops the agent, and keeps its events for the retention", async () => {
    const crashes = await eachCrash(async (calls) => {
      const first = await running();
      first.callsLeft = calls;
      await settled(first.sessions.stop(startOf("one"), { force: false }, caller, never));
      await town.advanceUntil(() => has(ANNOTATIONS.stoppedAt) || first.callsLeft < 0);
      const outcome = first.callsLeft < 0 ? "crashed" : "through";
      await first.end();
      const asked = has(ANNOTATIONS.stopRequested);
      const second = await replica({ leads: true });
      if (!asked) await settled(second.sessions.stop(startOf("one"), { force: false }, caller, never));
      await town.advanceUntil(() => second.sessions.get(startOf("one"))?.status === "stopped");
      expect(town.sidecar.calls).toContain("StopAgent");
      expect(pods()).toHaveLength(1);
      await town.clock.advance(RETENTION_MS);
      await town.advanceUntil(isGone);
      return outcome;
    });
    expect(crashes).toBeGreaterThanOrEqual(3); // the request to stop, the agent, its end
  });

  it("of the leader that completes a stop and deletes the pod leaves nothing", async () => {
    const crashes = await eachCrash(async (calls) => {
      const first = await running();
      first.callsLeft = 1;
      await settled(first.sessions.stop(startOf("one"), { force: false }, caller, never));
      await first.end();
      const second = await replica({ leads: true });
      second.calls.length = 0;
      second.callsLeft = calls;
      await town.advanceUntil(() => isGone() || second.callsLeft < 0, 2 * RETENTION_MS);
      const outcome = second.callsLeft < 0 ? "crashed" : "through";
      await second.end();
      await replica({ leads: true });
      await town.advanceUntil(isGone, 2 * RETENTION_MS);
      expect(town.sidecar.calls).toContain("StopAgent");
      return outcome;
    });
    expect(crashes).toBeGreaterThanOrEqual(3);
  });

  it.for(["a pod that never ran", "a sidecar that cannot be reached"])(
    "of a stop of %s leaves nothing",
    async (what) => {
      const crashes = await eachCrash(async (calls) => {
        const first = what === "a pod that never ran" ? await replica() : await running();
        if (pods().length === 0) await settled(first.sessions.start(startOf("one"), caller, never));
        town.sidecar.fails = new DomainError("unavailable", "no route");
        first.callsLeft = calls;
        await settled(first.sessions.stop(startOf("one"), { force: false }, caller, never));
        await town.advanceUntil(() => isGone() || first.callsLeft < 0);
        const outcome = first.callsLeft < 0 ? "crashed" : "through";
        await first.end();
        const second = await replica({ leads: true });
        const left = pods()[0];
        if (left !== undefined && !has(ANNOTATIONS.stopRequested)) {
          await settled(second.sessions.stop(startOf("one"), { force: false }, caller, never));
        }
        await town.advanceUntil(isGone);
        return outcome;
      });
      expect(crashes).toBeGreaterThanOrEqual(2);
    },
  );
});
