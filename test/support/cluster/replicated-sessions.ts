import { afterEach, beforeAll, beforeEach, expect } from "vitest";
import type { IssuingCa } from "../../../internal/controller/certificates/session-certificate.ts";
import { FakeKube } from "../../fakes/fake-kube.ts";
import { FakeClock } from "../fake-clock.ts";
import { advanceUntil, type FakeSidecar, Replica, type ReplicaOptions, townCa } from "./session-replica.ts";

const NAMESPACE = "/api/v1/namespaces/agents";
/** The collections of a `FakeKube` with the replicas' objects. */
export const PODS = `${NAMESPACE}/pods`;
export const SECRETS = `${NAMESPACE}/secrets`;

/** Replicas of the controller on one cluster, with one sidecar for all pods; time passes only in `clock`. */
export class ReplicatedSessions {
  readonly clock = new FakeClock();
  readonly kube = new FakeKube(() => this.clock.now());
  readonly sidecar: FakeSidecar = { alive: true, calls: [], restarts: 0 };
  readonly #ca: IssuingCa;
  readonly #replicas: Replica[] = [];

  constructor(ca: IssuingCa) {
    this.#ca = ca;
  }

  /** Starts a replica. */
  add(options?: ReplicaOptions): Replica {
    const { kube, clock, sidecar } = this;
    const made = new Replica({ kube, clock, sidecar, ca: this.#ca }, options);
    this.#replicas.push(made);
    return made;
  }

  /** Starts a replica that has read the cluster. */
  async replica(options?: ReplicaOptions): Promise<Replica> {
    const made = this.add(options);
    await this.advanceUntil(() => made.pods.isSynced);
    return made;
  }

  /** Advances the clock until the condition holds, as the function `advanceUntil` does. */
  advanceUntil(condition: () => boolean, limitMs?: number): Promise<void> {
    return advanceUntil(this.clock, condition, limitMs);
  }

  /** Advances the clock until the promise is settled. */
  async settled<T>(promise: Promise<T>): Promise<PromiseSettledResult<T>> {
    let result: PromiseSettledResult<T> | undefined;
    void Promise.allSettled([promise]).then(([each]) => {
      result = each;
    });
    await this.advanceUntil(() => result !== undefined);
    return result as PromiseSettledResult<T>;
  }

  /** Advances the clock until the promise is settled, and settles like it. */
  async done<T>(promise: Promise<T>): Promise<T> {
    await this.settled(promise);
    return promise;
  }

  /** Reports the only pod as running, as the kubelet would; `status` adds fields. */
  runs(status: object = {}): void {
    const [pod] = this.kube.list(PODS);
    if (pod === undefined) throw new Error("no pod");
    const containerStatuses = [{ name: "agent", ready: true, started: true, restartCount: 0, state: { running: {} } }];
    const conditions = [{ type: "Ready", status: "True" }];
    const running = { phase: "Running", podIP: "10.0.0.1", conditions, containerStatuses };
    this.kube.set(PODS, { ...pod, status: { ...running, ...status } });
  }

  /** Ends all replicas; fails if one has left a timer. */
  async end(): Promise<void> {
    await Promise.all(this.#replicas.map((each) => each.end()));
    expect(this.clock.sleeping).toBe(0);
  }
}

/** Gives each test of the calling `describe` its own, all with one CA. */
export function eachTown(take: (town: ReplicatedSessions) => void): void {
  let ca: IssuingCa;
  let town: ReplicatedSessions;
  beforeAll(async () => {
    ca = await townCa(new FakeClock().now());
  });
  beforeEach(() => {
    town = new ReplicatedSessions(ca);
    take(town);
  });
  afterEach(() => town.end());
}
