import { setTimeout as sleep } from "node:timers/promises";
import { CoreV1Api, KubeConfig, makeInformer, type V1ConfigMap, type V1ConfigMapList } from "@kubernetes/client-node";
import { systemClock } from "../../internal/base/clock.ts";
import type { KubeApi } from "../../internal/kube/kube-api.ts";
import { Reflector } from "../../internal/kube/reflector.ts";
import { KubeTransport } from "../../internal/kube/transport.ts";
import { silentLogger } from "../../test/support/silent-logger.ts";
import { type Measured, measured } from "../report/row.ts";
import type { ClusterBench } from "./cluster-bench.ts";
import { FaultProxy, type NetworkFault } from "./fault-proxy.ts";

const NAMESPACE = "informer";
const MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
const CALLS = 300;
/** Each object lives this long, so that a later list does not show the objects that a watch missed. */
const LIFE_MS = 3_000;
const PACE_MS = 100;
const FAULTS: readonly NetworkFault[] = ["reset", "watch-429", "half-line", "watch-503", "list-503", "reset"];
const FAULT_MS = 2_500;
const BETWEEN_MS = 6_000;
/** Our watchdog's 70 s, and the time to recover. */
const SETTLE_MS = 150_000;
const never = new AbortController().signal;

/** The changes that a follower reported: `+name`, `-name`. */
interface Follower extends AsyncDisposable {
  readonly reported: Set<string>;
}

/** Measures how many changes each follower missed during the same faults, and the connections of 300 calls. */
export async function measureInformer({ cluster, access, say, quick }: ClusterBench): Promise<readonly Measured[]> {
  await cluster.kubectl(["create", "namespace", NAMESPACE]);
  await using stack = new AsyncDisposableStack();
  const proxies = [
    await FaultProxy.before(access),
    await FaultProxy.before(access),
    await FaultProxy.before(access),
  ] as const;
  for (const proxy of proxies) stack.use(proxy);
  const writer = new KubeTransport({
    credentials: { access: async () => access },
    clock: systemClock,
    logger: silentLogger,
  });
  stack.use(running(writer));
  const ours = stack.use(await reflectorOf(proxies[0].url));
  const informer = stack.use(await informerOf(proxies[1].url, false));
  const restarted = stack.use(await informerOf(proxies[2].url, true));
  const truth = new Set<string>();
  const stop = new AbortController();
  const churning = churn(writer, truth, stop.signal);
  for (const fault of quick ? FAULTS.slice(0, 3) : [...FAULTS, "silent" as const]) {
    say(`informer: ${fault}`);
    await sleep(BETWEEN_MS);
    for (const proxy of proxies) proxy.set(fault);
    await sleep(FAULT_MS);
    for (const proxy of proxies) proxy.set("none");
  }
  await sleep(quick ? 35_000 : SETTLE_MS);
  stop.abort(new Error("enough"));
  await churning;
  await sleep(3_000);
  const missed = (follower: Follower) => [...truth].filter((event) => !follower.reported.has(event)).length;
  say(`informer: ${truth.size} events`);
  const of = `changes missed of ${truth.size}, through ${quick ? 3 : FAULTS.length + 1} faults`;
  return [
    measured(`${of}: reflector (baseline: client-node's informer)`, missed(ours), "events", {
      baseline: missed(informer),
      atMost: 0,
    }),
    measured(`${of}: reflector (baseline: the informer, started again 5 s after an error)`, missed(ours), "events", {
      baseline: missed(restarted),
      atMost: 0,
    }),
    ...(await measureConnections(access)),
  ];
}

async function churn(api: KubeApi, truth: Set<string>, signal: AbortSignal): Promise<void> {
  const ends: Promise<void>[] = [];
  for (let i = 0; !signal.aborted; i++) {
    const name = `m${i}`;
    await api.call({ method: "POST", path: MAPS, body: { metadata: { name } } }, never);
    truth.add(`+${name}`);
    const end = async () => {
      await sleep(LIFE_MS);
      await api.call({ method: "DELETE", path: `${MAPS}/${name}` }, never);
      truth.add(`-${name}`);
    };
    ends.push(end());
    await sleep(PACE_MS);
  }
  await Promise.all(ends);
}

function running(transport: KubeTransport): AsyncDisposable {
  const stop = new AbortController();
  const run = transport.run(stop.signal);
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error("enough"));
      await run;
    },
  };
}

async function reflectorOf(server: string): Promise<Follower> {
  const access = async () => ({ server, tls: {}, headers: {} });
  const api = new KubeTransport({ credentials: { access }, clock: systemClock, logger: silentLogger });
  const reported = new Set<string>();
  const reflector = new Reflector(
    {
      api,
      clock: systemClock,
      logger: silentLogger,
      random: Math.random,
      onDelta: ({ type, object }) => void reported.add(`${type === "removed" ? "-" : "+"}${object.key.split("/")[1]}`),
    },
    { path: MAPS, project: () => true },
  );
  const held = running(api);
  const stop = new AbortController();
  const run = reflector.run(stop.signal);
  while (!reflector.isSynced) await sleep(20);
  return {
    reported,
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error("enough"));
      await run;
      await held[Symbol.asyncDispose]();
    },
  };
}

function configOf(server: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: "c", server, skipTLSVerify: true }, { name: "u" });
  return config;
}

/** `restart`: starts the informer again after an error, as in the library's own example. */
async function informerOf(server: string, restart: boolean): Promise<Follower> {
  const config = configOf(server);
  const core = config.makeApiClient(CoreV1Api);
  const list = async (): Promise<V1ConfigMapList> => await core.listNamespacedConfigMap({ namespace: NAMESPACE });
  const informer = makeInformer<V1ConfigMap>(config, MAPS, list);
  const reported = new Set<string>();
  const nameOf = (map: V1ConfigMap) => map.metadata?.name ?? "";
  let stopped = false;
  informer.on("add", (map) => void reported.add(`+${nameOf(map)}`));
  informer.on("update", (map) => void reported.add(`+${nameOf(map)}`));
  informer.on("delete", (map) => void reported.add(`-${nameOf(map)}`));
  const again = async (): Promise<void> => {
    await sleep(5_000);
    if (!stopped) await informer.start().catch(again);
  };
  informer.on("error", () => void (restart && !stopped && again()));
  await informer.start();
  return {
    reported,
    [Symbol.asyncDispose]: async () => {
      stopped = true;
      await informer.stop();
    },
  };
}

async function measureConnections(access: ClusterBench["access"]): Promise<readonly Measured[]> {
  await using stack = new AsyncDisposableStack();
  const proxy = stack.use(await FaultProxy.before(access));
  const api = new KubeTransport({
    credentials: { access: async () => ({ server: proxy.url, tls: {}, headers: {} }) },
    clock: systemClock,
    logger: silentLogger,
  });
  stack.use(running(api));
  for (let i = 0; i < CALLS; i++) await api.call({ method: "GET", path: MAPS }, never);
  const ours = proxy.accepted;
  const core = configOf(proxy.url).makeApiClient(CoreV1Api);
  for (let i = 0; i < CALLS; i++) await core.listNamespacedConfigMap({ namespace: NAMESPACE });
  const theirs = proxy.accepted - ours;
  return [
    measured(`connections of ${CALLS} calls, one after the other (baseline: client-node)`, ours, "connections", {
      baseline: theirs,
      atMost: 3,
    }),
  ];
}
