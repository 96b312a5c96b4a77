import { setTimeout as sleep } from "node:timers/promises";
import { seeded } from "../../../bench/stats.ts";
import { NudgeOutcome } from "../../../internal/gen/gastown/v1/common_pb.ts";
import { type RealAgent, startRealAgent } from "../../support/agents/real-agent.ts";
import { until } from "../../support/sidecar/sidecar.ts";
import { nameOf } from "../delivery/send.ts";
import { behindAct } from "./behind-model.ts";
import { judgeBehind } from "./judge-behind.ts";
import type { BehindTarget, Part, Scene } from "./scenes.ts";
import { sleepCommand, WatchedShell } from "./shells.ts";
import { MAIN, mainTurns, subagentOf, taskIdOf } from "./truth.ts";
import { BackgroundWatcher } from "./watcher.ts";

/** One run: tasks were started behind a turn and watched until they had ended, and a message was sent meanwhile. */
export interface BehindFigures {
  readonly target: string;
  /** The number of the run; it and the seed determine the scene. */
  readonly index: number;
  readonly scene: string;
  /** The number of judged Status answers. */
  readonly looks: number;
  /** The time from the call to the receipt of the message that was sent while a task ran. */
  readonly nudgeMs: number;
  /** The faults, one sentence each. */
  readonly notes: readonly string[];
}

export interface BehindOptions {
  readonly seed: number;
  readonly from: number;
  readonly to: number;
  /** The time after a change for which Status may still report the old state. */
  readonly lagMs: number;
  readonly sidecarProgram: string | undefined;
  readonly signal: AbortSignal;
  readonly onRun: (figures: BehindFigures) => void;
  /** Reports an agent that was given up; the run continues with another. */
  readonly onTrouble: (text: string) => void;
}

const PER_LIFE = 10;
const WORD_MS = 100;
const LONG_S = 5000;
const ENDLESS_WORDS = 10_000;
/** A default nudge behind a shell that never ends must be submitted within this time. */
const USUAL_MS = 10_000;
const STEP_MS = 60_000;

/** Starts tasks behind the turns of a real agent, run by run, from one life of the agent to the next. */
export async function runBehind(target: BehindTarget, options: BehindOptions): Promise<void> {
  for (let next = options.from; next < options.to; ) {
    const done = await runsOfALife(target, { ...options, from: next, to: Math.min(options.to, next + PER_LIFE) });
    next = done.next;
    if (done.trouble === undefined) continue;
    options.onTrouble(`run ${next}: ${done.trouble.slice(0, 2500)}`);
    next++;
  }
}

/** `trouble`: the reason why it ended before its last run; that run is not judged. */
async function runsOfALife(target: BehindTarget, options: BehindOptions) {
  const { from, to, sidecarProgram, signal, onRun } = options;
  let next = from;
  try {
    await using agent = await startRealAgent({
      program: target.name,
      act: behindAct,
      wordDelayMs: WORD_MS,
      args: target.args,
      sidecarProgram,
    });
    for (; next < to; next++) {
      signal.throwIfAborted();
      onRun({ target: target.name, index: next, ...(await new Run(agent, target, next, options).play()) });
    }
    return { next };
  } catch (err) {
    signal.throwIfAborted();
    return { next, trouble: err instanceof Error ? err.message : String(err) };
  }
}

type Started =
  | { readonly part: Part & { readonly type: "shell" }; readonly shell: WatchedShell }
  | { readonly part: Exclude<Part, { readonly type: "shell" }>; readonly word: string };

/** One scene with one agent. */
class Run {
  readonly #agent: RealAgent;
  readonly #target: BehindTarget;
  readonly #index: number;
  readonly #options: BehindOptions;
  readonly #scene: Scene;
  readonly #random: () => number;
  readonly #notes: string[] = [];
  readonly #sentAt: number[] = [];
  readonly #done = new AbortController();

  constructor(agent: RealAgent, target: BehindTarget, index: number, options: BehindOptions) {
    this.#agent = agent;
    this.#target = target;
    this.#index = index;
    this.#options = options;
    this.#random = seeded(options.seed * 1_000_003 + index * 7919);
    const deal = target.scenes[Math.floor(this.#random() * target.scenes.length)];
    if (deal === undefined) throw new Error(`${target.name} has no scenes`);
    this.#scene = deal(this.#random);
  }

  /** @throws Error with the screen if it could not be completed */
  async play(): Promise<Omit<BehindFigures, "target" | "index">> {
    try {
      return await this.#play();
    } catch (err) {
      const { output } = await this.#agent.sidecar.client.peek({ lines: 30 });
      throw new Error(`${this.#scene.name}: ${err instanceof Error ? err.message : String(err)}\n${output}`, {
        cause: err,
      });
    }
  }

  async #play(): Promise<Omit<BehindFigures, "target" | "index">> {
    const { signal, lagMs } = this.#options;
    const watcher = new BackgroundWatcher(this.#agent.sidecar);
    await watcher.untilRested(STEP_MS, signal);
    const firstSpan = this.#agent.model.spans.length;
    const watching = [watcher.run(AbortSignal.any([signal, this.#done.signal]))];
    let nudgeMs = 0;
    const started: Started[] = [];
    try {
      for (const [i, part] of this.#scene.parts.entries()) started.push(await this.#start(part, i, watching, watcher));
      if (this.#scene.parts.every(({ type }) => type !== "awaited")) nudgeMs = await this.#nudgeBehind();
      await sleep(lagMs + 1000 + this.#random() * 3000, undefined, { signal });
      for (const one of started) await this.#end(one);
      await until("everything to end", STEP_MS, () => started.every((one) => this.#hasEnded(one)) || undefined);
      await watcher.untilRested(STEP_MS, signal);
      await sleep(lagMs + 1000, undefined, { signal });
    } finally {
      for (const one of started) killQuietly(one);
      this.#done.abort();
      await Promise.all(watching);
    }
    const spans = this.#agent.model.spans.slice(firstSpan);
    const behind = started.flatMap((one) => {
      if (one.part.type === "awaited") return [];
      return ("shell" in one ? one.shell.behind : subagentOf(spans, one.word)) ?? [];
    });
    const truth = { turns: mainTurns(spans), behind, sentAt: this.#sentAt, isTold: this.#target.isTold };
    const { judged, faults } = judgeBehind(watcher.looks, truth, lagMs);
    return { scene: this.#scene.name, looks: judged, nudgeMs, notes: [...this.#notes, ...faults] };
  }

  async #start(part: Part, i: number, watching: Promise<void>[], watcher: BackgroundWatcher): Promise<Started> {
    const { signal } = this.#options;
    if (part.type === "shell") {
      const command = sleepCommand(part.endsAfterS ?? LONG_S, this.#index * 2 + i);
      const shell = new WatchedShell(command);
      watching.push(shell.watch(AbortSignal.any([signal, this.#done.signal])));
      await this.#say(`RUN-BEHIND ${command}`);
      await until("the shell", STEP_MS, () => shell.behind);
      await watcher.untilRested(STEP_MS, signal);
      return { part, shell };
    }
    const word = `task${this.#index}x${i}`;
    const asks = part.type === "awaited" ? "ASK-AND-WAIT" : "ASK-HELPER";
    await this.#say(`${asks} ${word} TALK ${part.words ?? ENDLESS_WORDS}`);
    await until("the sub-agent", STEP_MS, () => subagentOf(this.#agent.model.spans, word));
    if (part.type === "subagent") await watcher.untilRested(STEP_MS, signal);
    return { part, word };
  }

  /** A default nudge while a task runs that may never end. */
  async #nudgeBehind(): Promise<number> {
    const begun = performance.now();
    const marker = `marker${this.#index}`;
    await this.#say(marker);
    const ms = performance.now() - begun;
    await until("the model to get it", USUAL_MS, () => this.#agent.model.arrivalsOfOne(marker) > 0 || undefined).catch(
      () => this.#notes.push("the message never arrived"),
    );
    return Math.round(ms);
  }

  async #say(text: string): Promise<void> {
    const begun = performance.now();
    this.#sentAt.push(Date.now());
    const { outcome, error } = await this.#agent.sidecar.client.nudge({ message: `${MAIN}${text}` });
    const ms = Math.round(performance.now() - begun);
    if (outcome !== NudgeOutcome.SUBMITTED || ms > USUAL_MS)
      this.#notes.push(`${text}: ${nameOf(outcome)} after ${ms} ms (${error})`);
  }

  /** Ends a task that does not end by itself. */
  async #end(one: Started): Promise<void> {
    if (this.#hasEnded(one)) return;
    if ("shell" in one) {
      if (one.part.endsAfterS === undefined) one.shell.kill();
    } else if (one.part.type === "subagent" && one.part.words === undefined) {
      await this.#say(`STOP-TASK ${taskIdOf(this.#agent.model.spans, one.word)}`);
    }
  }

  #hasEnded(one: Started): boolean {
    const behind = "shell" in one ? one.shell.behind : subagentOf(this.#agent.model.spans, one.word);
    return behind?.to !== undefined;
  }
}

/** Ends a shell that a failed run left: it would run for hours. */
function killQuietly(one: Started): void {
  if (!("shell" in one)) return;
  try {
    one.shell.kill();
  } catch {} // it has ended
}
