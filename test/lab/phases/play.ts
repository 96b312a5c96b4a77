import { seeded } from "../../../bench/stats.ts";
import type { AgentKind } from "../../support/agents/agents-home.ts";
import type { AgentProgram } from "../../support/agents/agents-install.ts";
import { type RealAgentSetup, startRealAgent } from "../../support/agents/real-agent.ts";
import { ACTS, type Act, type Scene } from "./acts.ts";
import { DiaryHands } from "./diary-hands.ts";
import { type Lags, type Score, scoreOf } from "./score.ts";
import { turnsOf } from "./truth.ts";
import { StateWatcher } from "./watcher.ts";

export interface PhaseTarget {
  readonly name: string;
  readonly program: AgentProgram;
  /** The agent's arguments, e.g. to disable its hooks. */
  readonly args?: RealAgentSetup["args"];
  readonly lags: Lags;
}

export interface PhaseOptions {
  readonly ms: number;
  readonly everyMs: number;
  readonly seed: number;
  readonly long: boolean;
  /** The bundled gt-sidecar; default: its sources. */
  readonly sidecarProgram?: string;
  readonly say: (text: string) => void;
}

export interface PhaseRun {
  readonly target: PhaseTarget;
  readonly score: Score;
  /** How often each act was played. */
  readonly acts: Readonly<Record<string, number>>;
  /** The last act before each false idle. */
  readonly falseIdleActs: readonly string[];
  /** The acts that could not be played, with reasons. */
  readonly troubles: readonly string[];
  /** Status calls without an answer. */
  readonly failures: number;
}

const BY_HOOKS: Lags = { busyMs: 300, idleMs: 300 };
const BY_SCREEN: Lags = { busyMs: 300, idleMs: 2000 };
const OURS = /phase-\d+-\d+/;
/** An agent that does not come to rest for this long is interrupted. */
const REST_MS = 60_000;

export const PHASE_TARGETS: readonly PhaseTarget[] = [
  { name: "claude-2.1.330", program: "claude-2.1.330", lags: BY_HOOKS },
  { name: "claude-2.1.197", program: "claude-2.1.197", lags: BY_HOOKS },
  { name: "codex-0.169.0", program: "codex-0.169.0", lags: BY_SCREEN },
  { name: "opencode-1.18.33", program: "opencode-1.18.33", lags: BY_HOOKS },
  { name: "opencode-1.18.33 without hooks", program: "opencode-1.18.33", args: ["--pure"], lags: BY_SCREEN },
];

/** A person works with one agent for a while; its reported state is compared with the model server's log. */
export async function playPhases(target: PhaseTarget, options: PhaseOptions, signal: AbortSignal): Promise<PhaseRun> {
  await using agent = await startRealAgent({
    program: target.program,
    args: target.args,
    sidecarProgram: options.sidecarProgram,
  });
  const done = new AbortController();
  const watcher = new StateWatcher(agent.sidecar, options.everyMs);
  const watching = watcher.run(AbortSignal.any([signal, done.signal]));
  const hands = new DiaryHands(agent.sidecar, signal);
  const random = seeded(options.seed);
  const troubles: string[] = [];
  const played: { readonly name: string; readonly at: number }[] = [];
  try {
    await rest(watcher, hands);
    const end = performance.now() + options.ms;
    for (let n = 1; performance.now() < end; n++) {
      const act = dealt(target.program.split("-", 1)[0] as AgentKind, random);
      played.push({ name: act.name, at: Date.now() });
      const scene: Scene = {
        hands,
        watcher,
        model: agent.model,
        mark: `phase-${options.seed}-${n}`,
        random,
        long: options.long,
      };
      try {
        await act.play(scene);
      } catch (err) {
        if (signal.aborted) throw err;
        // The rest of a long run is worth more than a failure here; the screen shows the reason.
        troubles.push(`${act.name}: ${err instanceof Error ? err.message : String(err)}`);
        const { output } = await agent.sidecar.client.peek({ lines: 50 });
        options.say(`${target.name}: ${troubles.at(-1)}\n${output}`);
        await hands.interrupt();
      }
      await rest(watcher, hands);
      await hands.pause(2000 + random() * 2500);
      if (n % 20 === 0) options.say(`${target.name}: ${n} acts`);
    }
  } finally {
    done.abort();
    await watching;
  }
  const score = scoreOf(watcher.samples, turnsOf(agent.model.spans, hands.diary, OURS), hands.diary, target.lags);
  const acts: Record<string, number> = {};
  for (const { name } of played) acts[name] = (acts[name] ?? 0) + 1;
  const falseIdleActs = score.falseIdles.map(
    ({ at, intoMs }) => `${played.findLast((act) => act.at <= at)?.name}, ${intoMs} ms into it`,
  );
  return { target, score, acts, falseIdleActs, troubles, failures: watcher.failures.length };
}

function dealt(agent: AgentKind, random: () => number): Act {
  const fitting = ACTS.filter(({ only }) => only === undefined || only.includes(agent));
  const deck = fitting.flatMap((act) => Array.from({ length: act.weight }, () => act));
  return deck[Math.floor(random() * deck.length)] as Act;
}

/** Waits until idle has been reported for a while, or gives up: a missing idle counts in the figures. */
async function rest(watcher: StateWatcher, hands: DiaryHands): Promise<void> {
  const begun = performance.now();
  let interrupted = false;
  while (performance.now() - begun < REST_MS + 30_000) {
    const last = watcher.samples.slice(-20);
    if (last.length === 20 && last.every(({ state }) => state === "idle")) return;
    if (!interrupted && performance.now() - begun > REST_MS) {
      interrupted = true;
      await hands.interrupt();
    }
    await hands.pause(50);
  }
}
