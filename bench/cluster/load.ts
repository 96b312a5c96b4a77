import { setTimeout as sleep } from "node:timers/promises";
import { NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { ControllerCluster } from "../../test/support/cluster/controller-cluster.ts";
import { demoCommand } from "../../test/support/sidecar/sidecar.ts";
import { type Measured, measured } from "../report/row.ts";
import { quantile } from "../stats.ts";
import type { ClusterBench } from "./cluster-bench.ts";
import { type LiveSession, liveSession } from "./live-session.ts";

const SESSIONS = 5;
const CALLERS = 50;
/** One of so many calls is a nudge. */
const NUDGE_OF = 10;

/** Callers that peek and nudge at once, through two replicas; every answer is compared with what the agents received. */
export async function measureLoad({ cluster, quick, say, note }: ClusterBench): Promise<readonly Measured[]> {
  await using stack = new AsyncDisposableStack();
  await cluster.control?.("stop", "scheduler"); // it would say that no node takes the pods
  const town = stack.use(await ControllerCluster.make(cluster, undefined));
  await town.configure("agent:1", {}, { limits: { inputs_per_minute: 100_000, starts_per_minute: 1_000 } });
  const replicas = [stack.use(await town.replica()), stack.use(await town.replica())];
  const sessions: LiveSession[] = [];
  for (let i = 0; i < SESSIONS; i++) {
    const mark = `mark-of-session-${i}`;
    const command = (dir: string) => ({ command: demoCommand(dir, "--turn-ms", "50") });
    const session = stack.use(await liveSession(town, replicas[0] as (typeof replicas)[0], i, command));
    await session.direct.nudge({ message: mark, requestId: mark });
    sessions.push(session);
  }
  const seconds = quick ? 20 : 600;
  say(`load: ${CALLERS} callers, ${seconds} s`);
  const end = performance.now() + seconds * 1_000;
  const [peeks, nudges, wrong]: [number[], number[], string[]] = [[], [], []];
  const submitted = sessions.map(() => new Set<string>());
  const caller = async (number: number) => {
    for (let call = 0; performance.now() < end; call++) {
      const at = (number + call) % SESSIONS;
      const { client } = replicas[(number + call) % replicas.length] as (typeof replicas)[0];
      const sessionId = `live-${at}`;
      const from = performance.now();
      try {
        if (call % NUDGE_OF === number % NUDGE_OF) {
          const message = `session-${at} caller-${number} call-${call}.`;
          const { outcome } = await client.nudge({ sessionId, request: { message, requestId: message } });
          if (outcome === NudgeOutcome.SUBMITTED) submitted[at]?.add(message);
          nudges.push(performance.now() - from);
        } else {
          const { output } = await client.peek({ sessionId, request: { lines: 50 } });
          const others = [...output.matchAll(/session-(\d) caller/g)].filter(([, of]) => of !== String(at));
          if (output === "" || others.length > 0) wrong.push(`peek of ${sessionId}: ${others[0] ?? "nothing"}`);
          peeks.push(performance.now() - from);
        }
      } catch (err) {
        wrong.push(String(err));
      }
      await sleep(20);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, (_, i) => caller(i)));
  await sleep(2_000);
  for (const [i, session] of sessions.entries())
    wrong.push(...(await misreceived(session, submitted[i] ?? new Set(), i)));
  for (const text of new Set(wrong)) say(`load: wrong: ${text.slice(0, 200)}`);
  note(
    `Load: ${seconds} s, ${CALLERS} callers, ${SESSIONS} sessions with the demo agent, two replicas, ${peeks.length} peeks and ${nudges.length} nudges, of which ${submitted.reduce((sum, one) => sum + one.size, 0)} were answered as submitted. No pods: sidecars are processes of the same machine.`,
  );
  return [
    measured("load: wrong or failed answers", wrong.length, "answers", { atMost: 0 }),
    measured("load: Peek, p50", quantile(peeks, 0.5), "ms"),
    measured("load: Peek, p99", quantile(peeks, 0.99), "ms"),
    measured("load: Nudge with its receipt, p50", quantile(nudges, 0.5), "ms"),
    measured("load: Nudge with its receipt, p99", quantile(nudges, 0.99), "ms"),
  ];
}

/** What was answered as submitted and did not arrive once, and what arrived from another session. */
async function misreceived({ sidecar, id }: LiveSession, submitted: ReadonlySet<string>, index: number) {
  const taken = await sidecar.taken();
  const lost = [...submitted].filter((text) => taken.filter((each) => each.includes(text)).length !== 1);
  const foreign = taken.filter((text) => / caller-\d/.test(text) && !text.includes(`session-${index} caller`));
  return [...lost, ...foreign].map((text) => `${id} received wrongly: ${text}`);
}
