import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import type { ControllerCluster, RunningReplica } from "../../support/cluster/controller-cluster.ts";
import { leads } from "../../support/cluster/leads.ts";
import { until } from "../../support/sidecar/sidecar.ts";

/** The time for which a caller retries; longer than any of the faults lasts. */
export const CALL_MS = 120_000;
const ATTEMPT_MS = 20_000;
const AGAIN_MS = 250;
/** The errors after which a caller retries. */
const PASSES: ReadonlySet<Code> = new Set([Code.Unavailable, Code.DeadlineExceeded, Code.Aborted]);

type BridgeClient = RunningReplica["client"];

/** The replicas of a Service: one that is ending or suspended gets no new calls. */
export class SoakTown {
  readonly town: ControllerCluster;
  readonly random: () => number;
  /** The first is never ended, so that growth of its resources shows. */
  readonly replicas: RunningReplica[];
  readonly #suspended = new Set<RunningReplica>();
  readonly #logs: (() => string)[] = [];

  private constructor(town: ControllerCluster, random: () => number, replicas: readonly RunningReplica[]) {
    this.town = town;
    this.random = random;
    this.replicas = [...replicas];
    this.#logs.push(...replicas.map(({ log }) => log));
  }

  static async of(town: ControllerCluster, random: () => number): Promise<SoakTown> {
    return new SoakTown(town, random, [await town.replica(), await town.replica(), await town.replica()]);
  }

  /** A serving replica. */
  any(): RunningReplica {
    const serving = this.replicas.filter((each) => !this.#suspended.has(each));
    return this.pick(serving);
  }

  pick<T>(of: readonly T[]): T {
    return of[Math.floor(this.random() * of.length)] as T;
  }

  /**
   * Calls serving replicas at random until one answers. Throws an error after which callers do not retry, and after two
   * minutes the last error.
   */
  async call<T>(what: (client: BridgeClient, options: { readonly timeoutMs: number }) => Promise<T>): Promise<T> {
    const end = performance.now() + CALL_MS;
    for (;;) {
      try {
        return await what(this.any().client, { timeoutMs: ATTEMPT_MS });
      } catch (err) {
        if (!passes(err) || performance.now() > end) throw err;
      }
      await sleep(AGAIN_MS);
    }
  }

  /** Ends a replica other than the first, and starts another. */
  async replace(how: "SIGTERM" | "SIGKILL"): Promise<void> {
    const old = this.pick(this.replicas.slice(1));
    this.replicas.splice(this.replicas.indexOf(old), 1);
    await old.kill(how);
    const added = await this.town.replica();
    this.#logs.push(added.log);
    this.replicas.push(added);
  }

  /** Suspends the leader for `ms`, in which another replica is to take over. */
  async suspendLeader(ms: number): Promise<void> {
    const leader = this.replicas.find(leads);
    if (leader === undefined) return;
    this.#suspended.add(leader);
    await leader.kill("SIGSTOP");
    try {
      await sleep(ms);
    } finally {
      await leader.kill("SIGCONT");
    }
    await until("the leader to notice that it slept", 30_000, () => !leads(leader) || undefined, leader.log);
    this.#suspended.delete(leader);
  }

  /** The lines of any replica's log that indicate a fault. */
  wrongLines(): readonly string[] {
    const lines = this.#logs.flatMap((log) => log().split("\n"));
    return lines.filter((line) => /the watch missed changes|"msg":"bug|unhandled/i.test(line));
  }
}

/** Whether a caller retries after this error. */
export function passes(err: unknown): boolean {
  return PASSES.has(ConnectError.from(err).code);
}
