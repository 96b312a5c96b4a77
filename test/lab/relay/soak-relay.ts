import { setTimeout as sleep } from "node:timers/promises";

import { seeded } from "../../../bench/stats.ts";
import { raceSignal } from "../../../internal/base/abort.ts";
import { NatsServer } from "../../support/relay/nats-server.ts";
import { Coordinator, type Stored } from "../../support/relay/relay-bed.ts";
import { RelayProcess } from "../../support/relay/relay-process.ts";
import { until } from "../../support/sidecar/sidecar.ts";
import { cuttingProxy } from "../streams/cutting-proxy.ts";
import { judgeRelay, type SeenResult, type SessionTruth, type Verdict } from "./judge-relay.ts";
import { LabAgent } from "./lab-agent.ts";

export interface RelaySoakOptions {
  /** The path of nats-server. */
  readonly nats: string;
  readonly works: number;
  /** Half of them with agents for sampling, half with ACP agents. */
  readonly sessions: number;
  readonly seed: number;
  /** The mean time between two faults. */
  readonly everyMs: number;
  /** A line of progress. */
  readonly say: (text: string) => void;
}

export interface RelaySoakResult {
  readonly verdict: Verdict;
  readonly works: number;
  /** How often each kind of fault was injected. */
  readonly faults: Readonly<Record<string, number>>;
  readonly requests: number;
  /** Works that were published a second time, under another message id. */
  readonly again: number;
  readonly waiting: number;
}

/** Each kind of fault with its weight. */
const KINDS = Object.entries({
  ...{ "cut an agent": 6, "dial twice": 3, "cut a relay": 2, "kill a relay": 2, "stop a relay": 1 },
  ...{ "suspend a relay": 2, "kill the server": 1, "suspend the server": 1 },
}).flatMap(([kind, weight]) => Array<string>(weight).fill(kind));
const PATIENCE_MS = 600_000;
const OUTSTANDING = 3;
const TWICE = 0.1;

/** One of the two relays, behind a proxy that cuts its connections; its port changes with each start. */
class Replica {
  readonly #nats: NatsServer;
  readonly #onEnd: (log: string) => void;
  #relay: RelayProcess | undefined;
  #proxy: Awaited<ReturnType<typeof cuttingProxy>> | undefined;

  /** @param onEnd called with its log if it ends by itself */
  constructor(nats: NatsServer, onEnd: (log: string) => void) {
    this.#nats = nats;
    this.#onEnd = onEnd;
  }

  get url(): string {
    return (this.#proxy?.url ?? "http://127.0.0.1:9").replace("http", "ws");
  }

  async start(): Promise<void> {
    const relay = await RelayProcess.start(this.#nats.url, { args: ["--pong-timeout", "60"] });
    const { hostname, port } = new URL(await relay.url());
    this.#proxy = await cuttingProxy(hostname, Number(port));
    this.#relay = relay;
    const onExit = () => {
      if (this.#relay === relay) this.#onEnd(relay.log.slice(-4000));
    };
    if (relay.child.exitCode === null && relay.child.signalCode === null) relay.child.once("exit", onExit);
    else onExit();
  }

  get log(): string {
    return this.#relay?.log ?? "";
  }

  cut(): void {
    this.#proxy?.cut();
  }

  signal(name: "SIGSTOP" | "SIGCONT"): void {
    this.#relay?.child.kill(name);
  }

  async kill(name: "SIGKILL" | "SIGTERM"): Promise<void> {
    const [relay, proxy] = [this.#relay, this.#proxy];
    this.#relay = undefined;
    relay?.child.kill(name);
    await relay?.exited();
    await proxy?.[Symbol.asyncDispose]();
  }
}

/**
 * Gives work to agents through two relays on one NATS, cuts, kills and suspends all of them meanwhile, and judges the
 * results.
 */
export async function soakRelay(options: RelaySoakOptions, signal: AbortSignal): Promise<RelaySoakResult> {
  const { sessions, seed, works, say } = options;
  const random = seeded(seed);
  await using stack = new AsyncDisposableStack();
  const nats = stack.use(await NatsServer.start(options.nats));
  const ended = new AbortController();
  const onEnd = (log: string) => ended.abort(new Error(`a relay has ended by itself\n${log}`));
  const replicas = [new Replica(nats, onEnd), new Replica(nats, onEnd)];
  for (const replica of replicas) stack.defer(() => replica.kill("SIGKILL"));
  for (const replica of replicas) await replica.start();
  const coordinator = stack.use(await Coordinator.connect(nats));
  const url = () => (random() < 0.5 ? (replicas[0] as Replica) : (replicas[1] as Replica)).url;
  const agents = Array.from({ length: sessions }, (_, i) => {
    const agent = { session: `s${i}`, kind: i % 2 === 0 ? "sampling" : "acp" } as const;
    return { ...agent, agent: new LabAgent({ ...agent, url, random }), published: [] as string[] };
  });
  stack.defer(() => {
    for (const { agent } of agents) agent.leave();
  });
  const faults = new Faults(
    nats,
    replicas,
    agents.map(({ agent }) => agent),
    random,
  );
  const over = new AbortController();
  const breaking = faults.run(options.everyMs, AbortSignal.any([over.signal, signal]));
  const counts = { again: 0 };
  const perSession = Math.ceil(works / sessions);
  const giving = agents.map(async ({ session, published }) => {
    for (let n = 1; n <= perSession && !signal.aborted; n++) {
      await give(coordinator, session, `w${n}`, random() < TWICE, counts);
      published.push(`w${n}`);
      await outstanding(coordinator, session, OUTSTANDING);
      if (n % 20 === 0) say(`${session}: ${n} works, ${faults.total} faults`);
    }
  });
  await raceSignal(Promise.race([Promise.all(giving), breaking.then(() => Promise.all(giving))]), ended.signal);
  over.abort();
  await breaking;
  const settled = async () => ((await coordinator.waiting()) === 0 ? true : undefined);
  const logs = () => replicas.map(({ log }) => log.slice(-8000)).join("\n\n");
  await raceSignal(until("all work to be settled", PATIENCE_MS, settled, logs), ended.signal);
  const results = (await coordinator.stored("RELAY_RESULTS", "sessions.*.results.coding")).map(seen);
  const truths: SessionTruth[] = agents.map(({ session, kind, published, agent }) => ({
    ...{ session, kind, published, asked: agent.asked, answered: agent.answered },
  }));
  return {
    verdict: judgeRelay(truths, results),
    works: agents.reduce((sum, { published }) => sum + published.length, 0),
    faults: faults.done,
    requests: agents.reduce((sum, { agent }) => sum + [...agent.asked.values()].flat().length, 0),
    ...{ again: counts.again, waiting: await coordinator.waiting() },
  };
}

/** Publishes work, some of it twice under different message ids. */
async function give(
  coordinator: Coordinator,
  session: string,
  id: string,
  isTwice: boolean,
  counts: { again: number },
): Promise<void> {
  await publish(coordinator, session, id, id);
  if (!isTwice) return;
  counts.again++;
  await publish(coordinator, session, id, `${id}-again`);
}

/** Retries until the stream has it: the server may be killed before it confirms. */
async function publish({ js }: Coordinator, session: string, id: string, msgId: string): Promise<void> {
  const body = JSON.stringify({ id, type: "work.coding", payload: { task: id } });
  for (;;) {
    try {
      await js.publish(`sessions.${session}.work.coding`, body, { msgID: `${session}/${msgId}`, timeout: 2000 });
      return;
    } catch {
      await sleep(100);
    }
  }
}

/** Resolves when at most this much work waits in a session. */
async function outstanding(coordinator: Coordinator, session: string, most: number): Promise<void> {
  const subject = `sessions.${session}.work.coding`;
  await until(`${session} to go on`, PATIENCE_MS, async () => {
    const waiting = await coordinator.waitingIn(subject).catch(() => Number.POSITIVE_INFINITY);
    return waiting <= most ? true : undefined;
  });
}

class Faults {
  readonly done: Record<string, number> = {};
  readonly #nats: NatsServer;
  readonly #replicas: readonly Replica[];
  readonly #agents: readonly LabAgent[];
  readonly #random: () => number;

  constructor(nats: NatsServer, replicas: readonly Replica[], agents: readonly LabAgent[], random: () => number) {
    this.#nats = nats;
    this.#replicas = replicas;
    this.#agents = agents;
    this.#random = random;
  }

  get total(): number {
    return Object.values(this.done).reduce((sum, count) => sum + count, 0);
  }

  async run(everyMs: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(everyMs * 2 * this.#random(), undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      const kind = this.#any(KINDS);
      this.done[kind] = (this.done[kind] ?? 0) + 1;
      await this.#do(kind);
    }
  }

  async #do(kind: string): Promise<void> {
    const replica = this.#any(this.#replicas);
    const ms = 300 + 3000 * this.#random();
    switch (kind) {
      case "cut an agent":
        return this.#any(this.#agents).cut();
      case "dial twice":
        return this.#any(this.#agents).dialAgain();
      case "cut a relay":
        return replica.cut();
      case "kill a relay":
      case "stop a relay":
        await replica.kill(kind === "kill a relay" ? "SIGKILL" : "SIGTERM");
        return replica.start();
      case "suspend a relay":
        replica.signal("SIGSTOP");
        await sleep(ms);
        return replica.signal("SIGCONT");
      case "suspend the server":
        this.#nats.signal("SIGSTOP");
        await sleep(ms);
        return this.#nats.signal("SIGCONT");
      default:
        await this.#nats.kill();
        return this.#nats.restart();
    }
  }

  #any<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)] as T;
  }
}

function seen({ body }: Stored): SeenResult {
  const { text, tool_name: tool, reason } = body["payload"] as Readonly<Record<string, string | undefined>>;
  return {
    ...{ session: String(body["session_id"]), id: String(body["id"]), type: String(body["type"]) },
    ...{ nonce: text ?? tool, reason, part: Number(body["part"] ?? 1), parts: Number(body["parts"] ?? 1) },
  };
}
