import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import type { ControllerCluster, RunningReplica } from "../../support/cluster/controller-cluster.ts";
import { leads } from "../../support/cluster/leads.ts";
import { until } from "../../support/sidecar/sidecar.ts";

/** How long a caller asks again; longer than any of the faults lasts. */
export const CALL_MS = 120_000;
const ATTEMPT_MS = 20_000;
const AGAIN_MS = 250;
/** What a caller asks again for. */
const PASSES: ReadonlySet<Code> = new Set([Code.Unavailable, Code.DeadlineExceeded, Code.Aborted]);

type BridgeClient = RunningReplica["client"];

/** Replicas as a Service shows them: one that ends or is suspended gets no new calls. */
export class SoakTown {
  readonly town: ControllerCluster;
  readonly random: () => number;
  /** The first is never ended, so that what it holds tells whether something grows. */
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

  /** One that serves. */
  any(): RunningReplica {
    const serving = this.replicas.filter((each) => !this.#suspended.has(each));
    return this.pick(serving);
  }

  pick<T>(of: readonly T[]): T {
    return of[Math.floor(this.random() * of.length)] as T;
  }

  /** Asks one replica after the other until one answers, for two minutes. Other errors are thrown. */
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

  /** Ends one that is not the first, and starts another. */
  async replace(how: "SIGTERM" | "SIGKILL"): Promise<void> {
    const old = this.pick(this.replicas.slice(1));
    this.replicas.splice(this.replicas.indexOf(old), 1);
    await old.kill(how);
    const added = await this.town.replica();
    this.#logs.push(added.log);
    this.replicas.push(added);
  }

  /** Whoever leads sleeps for a time in which another takes over. */
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

  /** Lines of any replica's log that should not be. */
  wrongLines(): readonly string[] {
    const lines = this.#logs.flatMap((log) => log().split("\n"));
    return lines.filter((line) => /the watch missed changes|"msg":"bug|unhandled/i.test(line));
  }
}

/** Whether a caller asks again after it. */
export function passes(err: unknown): boolean {
  return PASSES.has(ConnectError.from(err).code);
}
