import { setTimeout as sleep } from "node:timers/promises";
import { NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { ControllerCluster, type RunningReplica } from "../../test/support/cluster/controller-cluster.ts";
import { LIVE_POD_PROVIDER, livePod, livePodProvider } from "../../test/support/cluster/live-pod.ts";
import { type Measured, measured } from "../report/row.ts";
import { quantile } from "../stats.ts";
import type { ClusterBench } from "./cluster-bench.ts";
import { pretendedSession } from "./pretended-session.ts";

/** The sessions with an agent. */
const SESSIONS = 5;
/** The other sessions have none: this process answers for their sidecars. */
const ALL_SESSIONS = 100;
const CALLERS = 50;
/** One call in this many is a nudge. */
const NUDGE_OF = 10;
const PAUSE_MS = 20;
/** The number of fake sessions that are started at a time. */
const STARTS = 5;

/** A session that is called, and the messages that its agent has received. */
interface Target {
  readonly id: string;
  readonly taken: () => Promise<readonly string[]>;
  /** The reason why a screen is not this session's own; undefined if it is. */
  readonly strange: (output: string) => string | undefined;
  readonly submitted: Set<string>;
}

interface Found {
  readonly peeks: number[];
  readonly nudges: number[];
  readonly wrong: string[];
}

/**
 * Measures callers that peek and nudge at once, through two replicas; every answer is compared with the agents'
 * records.
 */
export async function measureLoad(bench: ClusterBench): Promise<readonly Measured[]> {
  const { cluster, image, quick, say } = bench;
  const seconds = quick ? 60 : 600;
  await using stack = new AsyncDisposableStack();
  const town = stack.use(await ControllerCluster.make(cluster, undefined));
  const limits = { limits: { inputs_per_minute: 100_000, starts_per_minute: 1_000 } };
  const providers = { demo: { image: "none:1" }, [LIVE_POD_PROVIDER]: livePodProvider(image) };
  const namespaces = [{ name: town.agents, project: "shop" }];
  await town.configure(image, { max_per_project: ALL_SESSIONS }, { ...limits, providers, namespaces });
  const replicas = [stack.use(await town.replica()), stack.use(await town.replica())] as const;
  const live = await withAgents(town, replicas[0]);
  await bench.stopScheduler();
  const targets = [...live, ...(await without(town, replicas[1], stack))];
  say(`load: ${targets.length} sessions, ${CALLERS} callers, ${seconds} s`);
  const end = performance.now() + seconds * 1_000;
  const found: Found = { peeks: [], nudges: [], wrong: [] };
  await Promise.all(Array.from({ length: CALLERS }, (_, i) => caller(i, end, { targets, replicas }, found)));
  await sleep(2_000);
  for (const target of targets) found.wrong.push(...(await misreceived(target)));
  const { peeks, nudges, wrong } = found;
  for (const text of new Set(wrong)) say(`load: wrong: ${text.slice(0, 200)}`);
  const submitted = targets.reduce((sum, one) => sum + one.submitted.size, 0);
  bench.note(
    `Load: ${seconds} s, ${CALLERS} callers, ${SESSIONS} pods with the demo agent on a real node and ${ALL_SESSIONS - SESSIONS} whose sidecars one process pretends, two replicas, ${peeks.length} peeks and ${nudges.length} nudges, of which ${submitted} were answered as submitted.`,
  );
  return [
    measured("load: wrong or failed answers", wrong.length, "answers", { atMost: 0 }),
    measured("load: Peek, p50", quantile(peeks, 0.5), "ms"),
    measured("load: Peek, p99", quantile(peeks, 0.99), "ms"),
    measured("load: Nudge with its receipt, p50", quantile(nudges, 0.5), "ms"),
    measured("load: Nudge with its receipt, p99", quantile(nudges, 0.99), "ms"),
  ];
}

async function withAgents(town: ControllerCluster, replica: RunningReplica): Promise<readonly Target[]> {
  const targets: Target[] = [];
  for (let i = 0; i < SESSIONS; i++) {
    const { id, taken } = await livePod(town, replica, i);
    await replica.client.nudge({ sessionId: id, request: { message: `for ${id}: begin.`, requestId: "begin" } });
    const strange = (output: string) => {
      if (!output.includes("Demo agent") && !output.includes(`for ${id}:`)) return "not its screen";
      return [...output.matchAll(/for (live-\d+):/g)].find(([, of]) => of !== id)?.[0];
    };
    targets.push({ id, taken, strange, submitted: new Set() });
  }
  return targets;
}

async function without(town: ControllerCluster, replica: RunningReplica, stack: AsyncDisposableStack) {
  const targets: Target[] = [];
  for (let first = SESSIONS; first < ALL_SESSIONS; first += STARTS) {
    const indices = Array.from({ length: Math.min(STARTS, ALL_SESSIONS - first) }, (_, i) => first + i);
    for (const made of await Promise.all(indices.map((index) => pretendedSession(town, replica, index)))) {
      const { id, taken } = stack.use(made);
      const strange = (output: string) => (output === `screen of ${id}` ? undefined : output.slice(0, 50) || "nothing");
      targets.push({ id, taken: async () => taken, strange, submitted: new Set() });
    }
  }
  return targets;
}

/** Calls one session after another, at one replica after the other, until `end`. */
async function caller(
  number: number,
  end: number,
  at: { readonly targets: readonly Target[]; readonly replicas: readonly [RunningReplica, RunningReplica] },
  { peeks, nudges, wrong }: Found,
): Promise<void> {
  for (let call = 0; performance.now() < end; call++) {
    const { id, strange, submitted } = at.targets[(number * 7 + call) % at.targets.length] as Target;
    const { client } = at.replicas[(number + call) % 2 === 0 ? 0 : 1];
    const from = performance.now();
    try {
      if (call % NUDGE_OF === number % NUDGE_OF) {
        const message = `for ${id}: caller-${number} call-${call}.`;
        const request = { message, requestId: `caller-${number}-call-${call}` };
        const { outcome } = await client.nudge({ sessionId: id, request });
        if (outcome === NudgeOutcome.SUBMITTED) submitted.add(message);
        nudges.push(performance.now() - from);
      } else {
        const { output } = await client.peek({ sessionId: id, request: { lines: 50 } });
        const why = strange(output);
        if (why !== undefined) wrong.push(`peek of ${id}: ${why}`);
        peeks.push(performance.now() - from);
      }
    } catch (err) {
      wrong.push(String(err));
    }
    await sleep(PAUSE_MS);
  }
}

/** Texts that were answered as submitted and did not arrive exactly once, and texts that belong to another session. */
async function misreceived({ id, taken: read, submitted }: Target): Promise<readonly string[]> {
  const taken = await read();
  const lost = [...submitted].filter((text) => taken.filter((each) => each.includes(text)).length !== 1);
  const foreign = taken.filter((text) => !text.includes(`for ${id}:`));
  return [...lost, ...foreign].map((text) => `${id} received wrongly: ${text}`);
}
