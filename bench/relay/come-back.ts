import { SeedAgent, textResult } from "../../test/support/relay/seed-agent.ts";
import type { BenchContext } from "../context.ts";
import { type Measured, measured } from "../report/row.ts";
import { median } from "../stats.ts";
import { ANSWER, RelayBenchBed, work } from "./relay-bench-bed.ts";

/** Measures how soon an agent that was cut off during a turn and reconnects gets the same request. */
export async function measureComeBack(
  { quick, say, signal }: BenchContext,
  nats: string,
): Promise<readonly Measured[]> {
  say("relay: an agent that comes back");
  await using bed = await RelayBenchBed.create(nats, { hasOther: true });
  const urls = await bed.urls();
  const times = { same: [] as number[], other: [] as number[] };
  let at = 0;
  let agent = await SeedAgent.dial(urls[0], { session: "back" });
  const rounds = quick ? 20 : 100;
  for (let round = 0; round < rounds; round++) {
    signal.throwIfAborted();
    const [id, asked] = [`w${round}`, agent.requests.length + 1];
    await bed.coordinator.work("back", work(id));
    await agent.request(asked);
    const isSame = round % 2 === 0;
    if (!isSame) at = 1 - at;
    agent.socket.terminate();
    const from = performance.now();
    agent = SeedAgent.begin(urls[at] as string, { session: "back" });
    await firstRequest(agent);
    times[isSame ? "same" : "other"].push(performance.now() - from);
    agent.reply(id, textResult(ANSWER));
    await bed.coordinator.results("back", round + 1);
  }
  agent[Symbol.dispose]();
  return (["same", "other"] as const).flatMap((which) => [
    measured(`relay: reconnect to the ${which} relay and get the request again, p50`, median(times[which]), "ms", {
      atMost: 100,
    }),
    measured(`relay: reconnect to the ${which} relay and get the request again, max`, Math.max(...times[which]), "ms", {
      atMost: 500,
    }),
  ]);
}

function firstRequest(agent: SeedAgent): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  agent.socket.on("message", () => {
    if (agent.requests.length > 0) resolve();
  });
  agent.socket.on("close", (code) => reject(new Error(`the relay closed the connection with ${code}`)));
  return promise;
}
