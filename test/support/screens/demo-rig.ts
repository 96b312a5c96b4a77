import { type Key, KeyDecoder } from "../../../internal/demo/key-decoder.ts";
import { type Effect, type Event, plainLine, type State, type TimerName } from "../../../internal/demo/model.ts";
import { type DemoOptions, type Faults, noFaults } from "../../../internal/demo/options.ts";
import { render } from "../../../internal/demo/render.ts";
import { initialState, reduce } from "../../../internal/demo/state.ts";

/** The agent without a process: a queue of timers, and a record of its actions. */
export class Rig {
  state: State;
  now = 1000;
  readonly effects: Effect[] = [];
  readonly #timers = new Map<TimerName, number>();
  readonly #decoder = new KeyDecoder({ bursts: false });

  constructor(faults: Partial<Faults> = {}, options: Partial<DemoOptions> = {}) {
    const defaults = { seed: 1, turnMs: 1000, steps: 2, alternateScreen: false, trustDialog: false };
    this.state = initialState({ ...defaults, ...options, faults: { ...noFaults, ...faults } }, 80, 24);
    this.send({ type: "start" });
  }

  send(event: Event): void {
    const { state, effects } = reduce(this.state, event, this.now);
    this.state = state;
    for (const effect of effects) {
      this.effects.push(effect);
      if (effect.type === "timer") this.#timers.set(effect.name, this.now + effect.ms);
      if (effect.type === "cancel") this.#timers.delete(effect.name);
    }
  }

  /** Types bytes as a terminal sends them. */
  type(bytes: string): void {
    const keys: Key[] = [...this.#decoder.push(Buffer.from(bytes)), ...this.#decoder.flush()];
    for (const key of keys) this.send({ type: "key", key });
  }

  paste(text: string): void {
    this.type(`\x1b[200~${text}\x1b[201~`);
  }

  pass(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      const [due] = [...this.#timers].filter(([, at]) => at <= end).sort((a, b) => a[1] - b[1]);
      if (due === undefined) break;
      this.#timers.delete(due[0]);
      this.now = due[1];
      this.send({ type: "timer", name: due[0] });
    }
    this.now = end;
  }

  get timers(): TimerName[] {
    return [...this.#timers.keys()];
  }

  screen(): string[] {
    return render(this.state).lines.map(plainLine);
  }

  status(): string {
    return this.screen().at(-1) ?? "";
  }

  of<T extends Effect["type"]>(type: T): Extract<Effect, { type: T }>[] {
    return this.effects.filter((effect): effect is Extract<Effect, { type: T }> => effect.type === type);
  }

  taken(): string[] {
    return this.of("took").map((effect) => `${effect.via}: ${effect.text}`);
  }

  hooks(): string[] {
    return this.of("hook").map(({ line }) => (line.type === "waiting" ? `waiting ${line.reason}` : line.type));
  }

  printed(): string {
    return this.of("print")
      .flatMap((effect) => effect.lines.map(plainLine))
      .join("\n");
  }
}
