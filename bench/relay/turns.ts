import type { BenchContext } from "../context.ts";
import { type Measured, measured } from "../report/row.ts";
import { interleave, median, quantile } from "../stats.ts";
import { BareLane, makeBareStreams } from "./bare-lane.ts";
import { ANSWER, RelayBenchBed, work } from "./relay-bench-bed.ts";

const LANES = 100;

/** Measures one turn at a time: from publishing work to its stored result. */
export async function measureTurns({ quick, say, signal }: BenchContext, nats: string): Promise<readonly Measured[]> {
  say("relay: one turn");
  await using bed = await RelayBenchBed.create(nats);
  await makeBareStreams(bed.coordinator);
  using _ = await bed.agent("one");
  const bare = await BareLane.create(bed.coordinator, "one");
  const samples = { relay: [] as number[], bare: [] as number[] };
  const usual = JSON.stringify(work("w"));
  const arms = [
    timed(samples.relay, (round) => bed.turn("one", `w${round}`)),
    timed(samples.bare, () => bare.turn(usual, ANSWER)),
  ];
  await interleave(50, arms, signal); // the first run pays for the warm-up
  samples.relay.length = 0;
  samples.bare.length = 0;
  const rounds = quick ? 300 : 2000;
  const before = bed.cpuMs;
  await interleave(rounds, [(round) => (arms[0] as Arm)(round + 50), arms[1] as Arm], signal);
  const perTurn = (bed.cpuMs - before) / rounds;
  const [p50, p99] = [median(samples.bare), quantile(samples.bare, 0.99)];
  const baseline = "(baseline: its 7 JetStream calls alone)";
  return [
    measured(`relay: one turn, p50 ${baseline}`, median(samples.relay), "ms", { baseline: p50, ratioAtMost: 2.5 }),
    measured(`relay: one turn, p99 ${baseline}`, quantile(samples.relay, 0.99), "ms", {
      baseline: p99,
      ratioAtMost: 4,
    }),
    measured("relay: its CPU for a turn", perTurn, "ms", { atMost: 2 }),
  ];
}

/** Measures 100 lanes with work at the same time. */
export async function measureThroughput(
  { quick, say, signal }: BenchContext,
  nats: string,
): Promise<readonly Measured[]> {
  say(`relay: ${LANES} lanes`);
  await using bed = await RelayBenchBed.create(nats);
  await makeBareStreams(bed.coordinator);
  using stack = new DisposableStack();
  const names = Array.from({ length: LANES }, (_, lane) => `lane${lane}`);
  for (const name of names) stack.use(await bed.agent(name));
  await bed.untilLanesHeld(LANES);
  const bare = await Promise.all(names.map((name) => BareLane.create(bed.coordinator, name)));
  const usual = JSON.stringify(work("w"));
  const turns = quick ? 5 : 20;
  const rates = { relay: [] as number[], bare: [] as number[] };
  const arms = [
    rated(rates.relay, turns, (lane, round, turn) => bed.turn(`lane${lane}`, `w${lane}-${round}-${turn}`)),
    rated(rates.bare, turns, (lane) => (bare[lane] as BareLane).turn(usual, ANSWER)),
  ];
  await interleave(quick ? 2 : 6, arms, signal);
  return [
    measured(`relay: turns of ${LANES} lanes (baseline: their JetStream calls alone)`, median(rates.relay), "turns/s", {
      baseline: median(rates.bare),
      ratioAtLeast: 0.5,
    }),
  ];
}

type Arm = (round: number) => Promise<void>;

function timed(into: number[], act: Arm): Arm {
  return async (round) => {
    const at = performance.now();
    await act(round);
    into.push(performance.now() - at);
  };
}

/** Each lane does its turns one after another, all lanes at the same time. */
function rated(into: number[], turns: number, act: (lane: number, round: number, turn: number) => Promise<void>): Arm {
  const lane = async (number: number, round: number) => {
    for (let turn = 0; turn < turns; turn++) await act(number, round, turn);
  };
  return async (round) => {
    const at = performance.now();
    await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number, round)));
    into.push((LANES * turns * 1000) / (performance.now() - at));
  };
}
