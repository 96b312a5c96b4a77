import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeKube } from "../../test/fakes/fake-kube.ts";
import { FakeClock, settle } from "../../test/support/fake-clock.ts";
import { silentLogger } from "../../test/support/silent-logger.ts";
import { aborted } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import type { KubeRequest } from "./kube-api.ts";
import { KubeApiError, statusAnswer } from "./kube-errors.ts";
import { LeaseElector } from "./lease-elector.ts";
import { leaseRecord, microTime } from "./lease-record.ts";

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/gt/leases";
const LEASE = `${LEASES}/gastown-controller`;

/** One replica, with a network and a clock of its own. */
class Replica {
  fault: () => "hang" | "failure" | undefined = () => undefined;
  /** While set, the process is stopped: its timers do not fire. */
  stopped: Promise<void> | undefined;
  skewMs = 0;
  readonly terms: number[] = [];
  /** Awaited by the leader's work before it stops. */
  writersEnd: Promise<void> = Promise.resolve();
  isLeading = false;
  readonly elector: LeaseElector;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(identity: string, kube: FakeKube, clock: FakeClock) {
    const own: Clock = {
      now: () => clock.now() + this.skewMs,
      monotonicMs: () => clock.monotonicMs(),
      sleep: async (ms, signal) => {
        await clock.sleep(ms, signal);
        await this.stopped;
      },
    };
    const call = async (request: KubeRequest, signal: AbortSignal) => {
      const fault = this.fault();
      if (fault === "hang") await aborted(signal);
      signal.throwIfAborted();
      if (fault === "failure") throw new KubeApiError("renew", 500, statusAnswer(undefined));
      return kube.call(request, signal);
    };
    this.elector = new LeaseElector(
      {
        api: { call, stream: (request, signal) => kube.stream(request, signal) },
        clock: own,
        logger: silentLogger,
        random: () => 0.5,
        lead: async (signal, term) => {
          this.terms.push(term);
          this.isLeading = true;
          await aborted(signal);
          await this.writersEnd;
          this.isLeading = false;
        },
      },
      { lease: { namespace: "gt", name: "gastown-controller", labels: OURS }, identity },
    );
    this.#running = this.elector.run(this.#stop.signal);
  }

  async end(): Promise<void> {
    this.#stop.abort(new Error("stopped"));
    await this.#running;
  }
}

const OURS = { "app.kubernetes.io/managed-by": "gastown" };

describe("lease election", () => {
  let clock: FakeClock;
  let kube: FakeKube;
  let a: Replica;
  let b: Replica;

  beforeEach(async () => {
    [clock, kube] = [new FakeClock(), new FakeKube()];
    a = new Replica("a", kube, clock);
    await settle();
    b = new Replica("b", kube, clock);
    await settle();
  });
  afterEach(async () => {
    await Promise.all([a.end(), b.end()]);
    expect(clock.sleeping).toBe(0);
  });

  const record = () => leaseRecord(kube.get(LEASE));
  const holder = () => record().holder;
  /** Advances time in small steps and checks that there are never two leaders. */
  async function pass(ms: number, until = () => false): Promise<void> {
    for (let passed = 0; passed < ms && !until(); passed += 100) {
      await clock.advance(100);
      expect([a, b].filter((each) => each.elector.leads).length).toBeLessThanOrEqual(1);
    }
  }

  it("has one leader, which creates the lease and renews it every 2 s with one request", async () => {
    await pass(60_000);
    expect([a.isLeading, b.isLeading]).toEqual([true, false]);
    expect(a.terms).toEqual([0]);
    const before = kube.requests.filter((request) => request.method === "PUT").length;
    await pass(20_000);
    expect(kube.requests.filter((request) => request.method === "PUT").length - before).toBe(10);
    expect(b.elector.leader).toBe("a");
    expect(() => b.elector.assertLeads()).toThrow("not the leader");
  });

  it("writes times with exactly six digits", () => {
    expect(microTime(Date.UTC(2026, 0, 2, 3, 4, 5, 6))).toBe("2026-01-02T03:04:05.006000Z");
    expect(record().renewTime).toMatch(/T\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  it("moves within 20 s of a crash", async () => {
    await pass(5_000);
    a.fault = () => "hang"; // it never comes back
    const before = clock.monotonicMs();
    await pass(20_000, () => b.isLeading);
    expect(b.isLeading).toBe(true);
    expect(clock.monotonicMs() - before).toBeGreaterThan(10_000);
    expect(b.terms).toEqual([1]);
  });

  it("moves within 2 s of a stop, and only after the writers have stopped", async () => {
    await pass(5_000);
    const writers = Promise.withResolvers<void>();
    a.writersEnd = writers.promise;
    const ended = a.end();
    await pass(4_000);
    expect([holder(), b.isLeading]).toEqual(["a", false]);
    writers.resolve();
    await ended;
    expect(holder()).toBe("");
    await pass(2_000, () => b.isLeading);
    expect(b.isLeading).toBe(true);
  });

  it("steps down at its deadline if a renewal hangs, before another one leads", async () => {
    await pass(5_000);
    a.fault = () => "hang";
    await pass(12_000, () => !a.isLeading);
    expect([a.isLeading, a.elector.leads, b.isLeading]).toEqual([false, false, false]);
    await pass(10_000, () => b.isLeading);
    expect(b.isLeading).toBe(true);
  });

  it("keeps the lead through failures that end within the deadline", async () => {
    await pass(5_000);
    a.fault = () => "failure";
    await pass(6_000);
    a.fault = () => undefined;
    await pass(20_000);
    expect([a.isLeading, a.terms]).toEqual([true, [0]]);
  });

  it("lets a leader that was suspended for 30 s write nothing when it wakes", async () => {
    await pass(5_000);
    const stopped = Promise.withResolvers<void>();
    a.stopped = stopped.promise;
    await pass(30_000);
    expect(b.isLeading).toBe(true);
    expect(() => a.elector.assertLeads()).toThrow("not the leader");
    a.stopped = undefined;
    stopped.resolve();
    await pass(10_000);
    expect([a.isLeading, b.isLeading, a.terms, b.terms]).toEqual([false, true, [0], [1]]);
  });

  it("keeps the lead through a stall of 5 s, with one leader at every moment", async () => {
    await pass(5_000);
    const stopped = Promise.withResolvers<void>();
    a.stopped = stopped.promise;
    await pass(5_000);
    a.stopped = undefined;
    stopped.resolve();
    await pass(30_000);
    expect([a.isLeading, b.isLeading, a.terms, b.terms]).toEqual([true, false, [0], []]);
  });

  it("treats a jump of the wall clock as a suspension until the next renewal, and keeps the lead", async () => {
    await pass(5_000);
    a.skewMs = 600_000;
    expect(a.elector.leads).toBe(false);
    await pass(2_100);
    expect(a.elector.leads).toBe(true);
    a.skewMs = -600_000;
    await pass(30_000);
    expect([a.isLeading, a.terms]).toEqual([true, [0]]);
  });

  it("does not require synchronised clocks", async () => {
    b.skewMs = 600_000;
    await pass(60_000);
    expect([a.isLeading, b.isLeading]).toEqual([true, false]);
    b.skewMs = -600_000;
    await pass(60_000);
    expect([a.isLeading, b.isLeading]).toEqual([true, false]);
  });

  it("has one leader again after the lease was deleted", async () => {
    await pass(5_000);
    kube.delete(LEASES, "gastown-controller");
    await pass(30_000);
    expect([a.isLeading, b.isLeading, holder()]).toEqual([true, false, "a"]);
    expect(kube.get(LEASE)).toMatchObject({ metadata: { labels: OURS } });
  });

  it("has one leader again after another holder was written into the lease", async () => {
    await pass(5_000);
    const spec = { holderIdentity: "someone", leaseDurationSeconds: 15, leaseTransitions: 7 };
    kube.set(LEASES, { metadata: { name: "gastown-controller" }, spec });
    await pass(3_000, () => !a.isLeading);
    expect([a.isLeading, b.isLeading]).toEqual([false, false]);
    await pass(20_000);
    expect([a.isLeading, b.isLeading].filter(Boolean)).toHaveLength(1);
    expect(record().transitions).toBe(8);
    expect(kube.get(LEASE)).toMatchObject({ metadata: { labels: OURS } });
  });

  it("starts a new term when it regains a lease that was taken from it", async () => {
    await pass(5_000);
    const spec = { holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 3 };
    kube.set(LEASES, { metadata: { name: "gastown-controller" }, spec });
    await clock.advance(10_000);
    expect(record().transitions).toBeGreaterThan(3);
    expect([...a.terms, ...b.terms].sort()).toEqual([0, 4]);
    expect([a.isLeading, b.isLeading].filter(Boolean)).toHaveLength(1);
  });
});
