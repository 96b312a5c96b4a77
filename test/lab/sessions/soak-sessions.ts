import { setTimeout as sleep } from "node:timers/promises";
import { seeded } from "../../../bench/stats.ts";
import { type Fault, faultLine, type TakeFault } from "./fault.ts";
import { Fleet, type FleetSize } from "./fleet.ts";
import type { FleetMember } from "./fleet-member.ts";
import { type FleetSample, processesOf, takeFleetSample } from "./fleet-sample.ts";

export interface SessionSoakOptions {
  readonly ms: number;
  /** The mean time between two messages, each to one of the sessions. */
  readonly everyMs: number;
  readonly seed: number;
  readonly size: FleetSize;
  readonly say: (text: string) => void;
}

export interface SessionSoakResult {
  readonly faults: readonly Fault[];
  readonly samples: readonly FleetSample[];
  readonly members: readonly FleetMember[];
  readonly peeks: number;
  readonly updates: number;
  readonly overviewsEnded: number;
}

const SAMPLE_MS = 15_000;
const SAY_MS = 60_000;
/** The time until every session has taken its first messages. */
const WARM_UP_MS = 60_000;
const STOP_MS = 120_000;

/** Works with a bridge's sessions (messages, readers who leave and return, overviews) and measures their resources. */
export async function soakSessions(options: SessionSoakOptions, signal: AbortSignal): Promise<SessionSoakResult> {
  const { size, say } = options;
  say(`starts ${size.demo + size.terminals + size.real} sessions`);
  const faults: Fault[] = [];
  const takeFault: TakeFault = (fault) => {
    faults.push(fault);
    say(faultLine(fault));
  };
  const fleet = await Fleet.start(size, takeFault, signal);
  const { dir } = fleet.folder;
  const work = new FleetWork(fleet, options, () => faults.length);
  try {
    await work.run(signal);
    say("stops them");
    for (const member of fleet.members)
      await member.stop(STOP_MS).catch((err: unknown) => member.fault(`stop: ${err}`));
    await work.end();
  } finally {
    await fleet[Symbol.asyncDispose]();
  }
  for (const line of processesOf(dir).values())
    takeFault({ at: new Date().toISOString(), session: "", kind: "", text: `left behind: ${line.slice(0, 200)}` });
  const { samples, peeks, updates, overviewsEnded } = work;
  return { faults, samples, members: fleet.members, peeks, updates, overviewsEnded };
}

class FleetWork {
  readonly #fleet: Fleet;
  readonly #options: SessionSoakOptions;
  readonly #stop = new AbortController();
  readonly #random: () => number;
  readonly #faults: () => number;
  readonly #under: Promise<unknown>[] = [];
  readonly samples: FleetSample[] = [];
  peeks = 0;
  updates = 0;
  overviewsEnded = 0;

  constructor(fleet: Fleet, options: SessionSoakOptions, faults: () => number) {
    this.#fleet = fleet;
    this.#faults = faults;
    this.#options = options;
    this.#random = seeded(options.seed);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { members, clients } = this.#fleet;
    for (const member of members) this.#under.push(member.follow(this.#stop.signal));
    for (const client of clients) this.#under.push(this.#overview(client));
    const { ms, everyMs } = this.#options;
    const begin = performance.now();
    let [nextSample, nextWord] = [begin + WARM_UP_MS, begin + SAY_MS];
    const inputs = new Set<Promise<void>>();
    for (let now = begin; now - begin < ms && !signal.aborted; now = performance.now()) {
      const input = this.#act().finally(() => inputs.delete(input));
      inputs.add(input);
      if (now >= nextSample) {
        nextSample = now + SAMPLE_MS;
        await this.#sample((now - begin) / 1000);
      }
      if (now >= nextWord) {
        nextWord = now + SAY_MS;
        this.#options.say(this.#line((now - begin) / 1000));
      }
      await sleep(everyMs * 2 * this.#random());
    }
    await Promise.all(inputs);
  }

  /** Ends the remaining readers once the sessions have ended. */
  async end(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#under);
  }

  async #act(): Promise<void> {
    const { members } = this.#fleet;
    const any = () => members[Math.floor(this.#random() * members.length)] as FleetMember;
    const [writer, leaver, looked] = [any(), any(), any()];
    if (this.#random() < 0.1) leaver.leave();
    if (looked.plan.mode === "terminal") {
      this.peeks++;
      await looked.peek();
    }
    await writer.input();
  }

  /** A stream of overviews does not reconnect by itself: its owner opens it again. */
  async #overview(client: Fleet["clients"][number]): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        for await (const _ of client.watchSessions({ lines: 5 }, { signal })) this.updates++;
      } catch (err) {
        if (signal.aborted) return;
        this.#options.say(`an overview ended: ${err}`);
        this.overviewsEnded++;
        await sleep(1000);
      }
    }
  }

  async #sample(seconds: number): Promise<void> {
    const { folder, bridge } = this.#fleet;
    this.samples.push(await takeFleetSample(folder.dir, bridge, seconds));
  }

  #line(seconds: number): string {
    const last = this.samples.at(-1);
    const { members } = this.#fleet;
    const count = (of: (member: FleetMember) => number) => members.reduce((all, member) => all + of(member), 0);
    const held =
      last === undefined
        ? ""
        : `; bridge ${last.bridge.anonymousMiB.toFixed(1)} MiB, ${last.bridge.descriptors} fds; sidecars ${last.sidecars.processes}: ${last.sidecars.anonymousMiB.toFixed(0)} MiB, ${last.sidecars.descriptors} fds`;
    return `${Math.round(seconds)} s: ${count(({ inputs }) => inputs)} messages, ${count(({ events }) => events)} events, ${this.#faults()} faults${held}`;
  }
}
