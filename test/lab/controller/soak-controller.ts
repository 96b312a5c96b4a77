import { setTimeout as sleep } from "node:timers/promises";
import { anonymousMiB } from "../../../bench/proc.ts";
import { seeded } from "../../../bench/stats.ts";
import type { TestCluster } from "../../support/cluster/cluster.ts";
import { ControllerCluster } from "../../support/cluster/controller-cluster.ts";
import { LIVE_POD_PROVIDER, livePodProvider } from "../../support/cluster/live-pod.ts";
import { until } from "../../support/sidecar/sidecar.ts";
import { descriptors } from "../held.ts";
import { CLUSTER_FAULTS, type ClusterFault } from "./cluster-faults.ts";
import { SoakCounts, SoakSession } from "./soak-session.ts";
import { SoakTown } from "./soak-town.ts";

export interface ControllerSoakOptions {
  readonly cluster: TestCluster;
  readonly control: NonNullable<TestCluster["control"]>;
  /** The image of the pods with an agent. */
  readonly image: string;
  readonly ms: number;
  /** The number of concurrent sessions. */
  readonly sessions: number;
  readonly seed: number;
  readonly say: (text: string) => void;
}

/** The resources of the first replica at one moment. */
export interface ReplicaSample {
  readonly atSeconds: number;
  readonly anonymousMiB: number;
  readonly descriptors: number;
}

export interface ControllerSoakResult {
  readonly faults: readonly string[];
  readonly done: Readonly<Record<string, number>>;
  readonly samples: readonly ReplicaSample[];
  readonly counts: Pick<SoakCounts, "sessions" | "messages" | "peeks" | "events" | "gaps" | "returns">;
  readonly outcomes: Readonly<Record<string, number>>;
}

const SAMPLE_MS = 10_000;
const LIFE_MS = { min: 20_000, spread: 100_000 };
/** The mean time between two faults. */
const FAULT_MS = 8_000;
/** The maximum time until all traces of a stopped session are gone. */
const GONE_MS = 180_000;

/** Works with sessions in a cluster with random faults. */
export async function soakController(
  options: ControllerSoakOptions,
  signal: AbortSignal,
): Promise<ControllerSoakResult> {
  const { cluster, image, say, seed } = options;
  await using stack = new AsyncDisposableStack();
  const town = stack.use(await ControllerCluster.make(cluster, undefined));
  const limits = { limits: { inputs_per_minute: 100_000, starts_per_minute: 1_000 } };
  const providers = { [LIVE_POD_PROVIDER]: livePodProvider(image) };
  const namespaces = [{ name: town.agents, project: "shop" }];
  await town.configure(image, { retention: "10s", max_per_project: 100 }, { ...limits, providers, namespaces });
  const soak = new Soak(await SoakTown.of(town, seeded(seed)), options);
  await soak.run(AbortSignal.any([signal, AbortSignal.timeout(options.ms)]));
  say("waits until nothing is left");
  await soak.expectNothingLeft();
  return soak.result();
}

class Soak {
  readonly #town: SoakTown;
  readonly #options: ControllerSoakOptions;
  readonly #counts = new SoakCounts();
  readonly #faults: string[] = [];
  readonly #samples: ReplicaSample[] = [];
  readonly #done: Record<string, number> = {};
  readonly #sessions = new Set<SoakSession>();

  constructor(town: SoakTown, options: ControllerSoakOptions) {
    this.#town = town;
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { sessions } = this.#options;
    const places = Array.from({ length: sessions }, (_, i) => this.#place(i, signal));
    await Promise.all([...places, this.#goWrong(signal), this.#sample(signal)]);
  }

  async expectNothingLeft(): Promise<void> {
    const { agents, cluster } = this.#town.town;
    const left = async () => await cluster.kubectl(["-n", agents, "get", "pods,secrets", "-o", "name"]);
    await until("nothing to be left", GONE_MS, async () => (await left()) === "" || undefined).catch(async () => {
      this.#fault(`left behind: ${await left()}`);
    });
    for (const line of this.#town.wrongLines()) this.#fault(`log: ${line.slice(0, 300)}`);
  }

  result(): ControllerSoakResult {
    const { outcomes, ...counts } = this.#counts;
    const done = this.#done;
    return { faults: this.#faults, done, samples: this.#samples, counts, outcomes: Object.fromEntries(outcomes) };
  }

  #fault(text: string): void {
    this.#faults.push(`${new Date().toISOString()} ${text}`);
    this.#options.say(`FAULT: ${text}`);
  }

  /** Runs one session after the other. */
  async #place(index: number, signal: AbortSignal): Promise<void> {
    for (let life = 0; !signal.aborted; life++) {
      const session = new SoakSession(`soak-${index}-${life}`, this.#town, this.#counts, (text) => this.#fault(text));
      this.#sessions.add(session);
      await session.live(LIFE_MS.min + LIFE_MS.spread * this.#town.random(), signal);
      this.#sessions.delete(session);
    }
  }

  /** One fault at a time: recovery from two at once is not promised. */
  async #goWrong(signal: AbortSignal): Promise<void> {
    const names = Object.keys(CLUSTER_FAULTS) as readonly ClusterFault[];
    const running = () => [...this.#sessions].filter(({ isRunning, isDeleted }) => isRunning && !isDeleted);
    const bed = { town: this.#town, control: this.#options.control, running };
    while (!signal.aborted) {
      await sleep(FAULT_MS * 2 * this.#town.random());
      const name = this.#town.pick(names);
      this.#options.say(name);
      await CLUSTER_FAULTS[name](bed).catch((err: unknown) => this.#fault(`${name}: ${err}`));
      this.#done[name] = (this.#done[name] ?? 0) + 1;
    }
  }

  async #sample(signal: AbortSignal): Promise<void> {
    const [pid, begin] = [this.#town.replicas[0]?.pid ?? 0, performance.now()];
    for (let i = 1; !signal.aborted; i++) {
      await sleep(SAMPLE_MS);
      const atSeconds = Math.round((performance.now() - begin) / 1_000);
      this.#samples.push({ atSeconds, anonymousMiB: anonymousMiB(pid), descriptors: descriptors(pid) });
      if (i % 6 === 0) this.#options.say(this.#line());
    }
  }

  #line(): string {
    const { sessions, messages, events, gaps } = this.#counts;
    const last = this.#samples.at(-1);
    const held = `the first replica: ${last?.anonymousMiB.toFixed(1)} MiB, ${last?.descriptors} descriptors`;
    return `${last?.atSeconds} s: ${sessions} sessions, ${messages} messages, ${events} events, ${gaps} gaps, ${this.#faults.length} faults; ${held}`;
  }
}
