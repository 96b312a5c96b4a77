import { AgentState } from "../../../internal/gen/gastown/v1/common_pb.ts";
import type { Bed } from "./bed.ts";
import { MESSAGES, type MessageKind } from "./messages.ts";
import { sendIntoOpening } from "./openings.ts";
import { type ModeName, type Sample, sendOnce } from "./send.ts";
import { STATES, type StateKind } from "./states.ts";
import type { Opening, Target } from "./targets.ts";

const SENDS_PER_LIFE = 50;
/** More restarts would count as a crash loop. */
const RESTARTS_PER_LIFE = 2;
const FATAL_SHARE = 0.1;
const DEAD_SENDS = 2;
/** The number of sends between two rounds of the starts that lead to dialogs. */
const SENDS_PER_OPENINGS = 50;

export interface RunOptions {
  readonly sends: number;
  /** The number of sends after which the agent is started again; default 50. */
  readonly life?: number | undefined;
  /** Wall clock, milliseconds: no send begins after it. */
  readonly until: number;
  /**
   * Only kinds and states whose name or class contains one of these words, separated by commas. A word without matches
   * selects all.
   */
  readonly only: string;
  /** The ways to send, in proportion to their number here. */
  readonly modes: readonly ModeName[];
  readonly random: () => number;
  /** The bundled gt-sidecar; absent: its sources. */
  readonly sidecarProgram: string | undefined;
  readonly signal: AbortSignal;
  /** Another agent with an empty home was started. */
  readonly onStart: () => void;
  readonly onSample: (sample: Sample) => void;
  /** Reports a state that could not be reached, or an agent that was given up. */
  readonly onTrouble: (text: string) => void;
}

interface Named {
  readonly name: string;
  readonly class?: string;
}

const STARTING: StateKind = { name: "starting", weight: 0, fits: () => true, stage: async () => ({}) };
/** An earlier message may be in a prompt that cannot be read. */
const LEFTOVER: StateKind = {
  name: "text left standing",
  weight: 0,
  fits: () => true,
  stage: async () => ({ stays: true }),
};
const DEAD: StateKind = { name: "dead", weight: 0, fits: () => true, stage: async () => ({ isDead: true }) };

/** Sends to one target until the number or the time is reached. */
export async function runTarget(target: Target, options: RunOptions): Promise<void> {
  await new TargetRun(target, options).run();
}

class TargetRun {
  readonly #target: Target;
  readonly #options: RunOptions;
  readonly #states: () => StateKind;
  readonly #kinds: () => MessageKind;
  #sent = 0;
  #restarts = 0;
  #before = "";
  /** Messages with the outcome UNKNOWN that have not arrived yet. */
  #late: string[] = [];

  constructor(target: Target, options: RunOptions) {
    this.#target = target;
    this.#options = options;
    const fitting = STATES.filter((state) => state.fits(target) && this.#isWanted(state, STATES));
    this.#states = deck(
      fitting.flatMap((state) => Array<StateKind>(state.weight).fill(state)),
      options.random,
    );
    this.#kinds = deck(
      MESSAGES.filter((kind) => this.#isWanted(kind, MESSAGES)),
      options.random,
    );
  }

  async run(): Promise<void> {
    while (this.#isGoing()) await this.#orGiveUp(() => this.#life());
    const { openings } = this.#target;
    const rounds = Math.floor(this.#sent / SENDS_PER_OPENINGS);
    for (let i = 0; i < rounds * openings.length && "dialog".includes(this.#options.only); i++) {
      const opening = openings[i % openings.length];
      if (opening !== undefined) await this.#orGiveUp(() => this.#open(opening));
    }
  }

  async #orGiveUp(life: () => Promise<void>): Promise<void> {
    try {
      await life();
    } catch (err) {
      if (this.#options.signal.aborted) throw err;
      const text = err instanceof Error ? err.message : String(err);
      this.#options.onTrouble(`given up: ${text.slice(0, 2500)}`);
      this.#sent++;
    }
  }

  async #open(opening: Opening): Promise<void> {
    await using bed = await this.#target.start(this.#options.sidecarProgram, opening);
    this.#options.onStart();
    await sendIntoOpening(bed, opening, (state) => this.#send(bed, state, this.#kinds()));
  }

  /** From a start of the agent to its end. */
  async #life(): Promise<void> {
    await using bed = await this.#target.start(this.#options.sidecarProgram);
    this.#options.onStart();
    this.#restarts = 0;
    this.#before = "";
    this.#late = [];
    const { life = SENDS_PER_LIFE } = this.#options;
    for (let n = 0; n < life && this.#isGoing(); n++) {
      if (n > 0) await bed.calm(this.#options.signal);
      const state = n === 0 ? STARTING : this.#state();
      const after = await this.#send(bed, state, this.#kinds());
      if (after === "stained") await this.#send(bed, LEFTOVER, this.#kinds());
      if (after !== "goes on") return;
    }
    if (this.#isGoing()) await this.#dead(bed);
  }

  #isGoing(): boolean {
    const { signal, sends, until } = this.#options;
    signal.throwIfAborted();
    return this.#sent < sends && Date.now() < until;
  }

  #isWanted<T extends Named>(one: T, all: readonly T[]): boolean {
    const has = (each: T, word: string) => each.name.includes(word) || each.class === word;
    const words = this.#options.only.split(",").filter((word) => all.some((each) => has(each, word)));
    return words.length === 0 || words.some((word) => has(one, word));
  }

  #state(): StateKind {
    for (;;) {
      const state = this.#states();
      if (state.name !== "restarting") return state;
      if (this.#restarts < RESTARTS_PER_LIFE) {
        this.#restarts++;
        return state;
      }
    }
  }

  /** `stained`: the unreadable prompt of an unknown program may contain text that no person could see and clear. */
  async #send(bed: Bed, state: StateKind, kind: MessageKind): Promise<"goes on" | "stained" | "given up"> {
    const { random, modes, signal, onSample, onTrouble } = this.#options;
    const mark = `q${Math.floor(random() * 0x1_0000_0000).toString(36)}${this.#sent}`;
    const { fatal } = this.#target;
    const isFatal = fatal !== undefined && kind.class === "safe" && random() < FATAL_SHARE;
    const message = isFatal ? `${fatal} ${mark}` : kind.make({ mark, before: this.#before, random });
    const mode = modes[Math.floor(random() * modes.length)] ?? "wait-idle";
    const wanted: ModeName = [STARTING, LEFTOVER, DEAD].includes(state) ? "wait-idle" : mode;
    this.#sent++;
    const late = this.#late.filter((text) => text !== message);
    const plan = { bed, target: this.#target, state, kind, mode: wanted, mark, message, late, random, signal };
    let told = "";
    try {
      const sample = await sendOnce(plan);
      onSample(sample);
      told = sample.told;
      if (told === "unknown" && sample.arrived === "nothing") this.#late.push(message);
    } catch (err) {
      if (signal.aborted) throw err;
      const text = err instanceof Error ? err.message : String(err);
      const { output } = await bed.sidecar.client.peek({ lines: 30 }).catch(() => ({ output: "" }));
      onTrouble(`${state.name}, ${kind.name}, ${wanted}: ${text.slice(0, 300)}\n${output.slice(-1500)}`);
      return "given up";
    }
    this.#before = told === "invalid" ? this.#before : message;
    const isStained = this.#target.kind === "tui" && (told === "stranded" || told === "unknown");
    return isFatal ? "given up" : isStained ? "stained" : "goes on";
  }

  /** A person ends the program, and it is not started again. */
  async #dead(bed: Bed): Promise<void> {
    await bed.calm(this.#options.signal);
    await this.#target.leave(bed);
    await bed.sidecar.untilState(AgentState.DEAD);
    for (let i = 0; i < DEAD_SENDS; i++) await this.#send(bed, DEAD, this.#kinds());
  }
}

/** Returns a function that returns one element after the other, in a new order after each round. */
function deck<T extends { readonly name: string; readonly every?: number | undefined }>(
  all: readonly T[],
  random: () => number,
): () => T {
  let cards: T[] = [];
  let round = 0;
  return () => {
    while (cards.length === 0) {
      round++;
      cards = all.filter((card) => round % (card.every ?? 1) === 0);
      for (let i = cards.length - 1; i > 0; i--) {
        const j = Math.floor(random() * (i + 1));
        [cards[i], cards[j]] = [cards[j] as T, cards[i] as T];
      }
    }
    return cards.pop() as T;
  };
}
