// Follows pods as a replica does, in a process of its own, and prints as JSON the duration of the first list. Usage:
// follower.ts KUBECONFIG NAMESPACE...
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../internal/base/clock.ts";
import { SessionPods } from "../../internal/controller/pods/session-pods.ts";
import { kubeconfigCredentials } from "../../internal/kube/access/kubeconfig.ts";
import { KubeTransport } from "../../internal/kube/transport.ts";
import { LongestTurn } from "../../test/support/sidecar/longest-turn.ts";
import { silentLogger } from "../../test/support/silent-logger.ts";

const [kubeconfig = "", ...namespaces] = process.argv.slice(2);
const MIB = 1 << 20;

const credentials = await kubeconfigCredentials(kubeconfig);
const stop = new AbortController();
const api = new KubeTransport({ credentials, clock: systemClock, logger: silentLogger });
const bindings = namespaces.map(
  (name) => ({ name, project: "shop", templates: new Map(), credentials: "plaintext" }) as const,
);
const pods = new SessionPods({ api, clock: systemClock, logger: silentLogger, random: Math.random }, bindings);
await sleep(500); // garbage from loading is not measured
const before = process.memoryUsage();
const turn = new LongestTurn();
const from = performance.now();
const running = [api.run(stop.signal), pods.run(stop.signal)];
while (!pods.isSynced) await sleep(5);
const syncMs = performance.now() - from;
await sleep(200);
const known = [...pods.all()].length;
const facts = {
  known,
  syncMs,
  stallMs: turn.ms,
  heapMiB: (process.memoryUsage().heapUsed - before.heapUsed) / MIB,
};
process.stdout.write(`${JSON.stringify(facts)}\n`);
turn[Symbol.dispose]();
stop.abort(new Error("enough"));
await Promise.all(running);
