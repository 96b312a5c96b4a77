import { answerByArrows, VERTICAL } from "../../internal/agents/answer-by-arrows.ts";
import type { AgentProfile, ScreenView } from "../../internal/agents/profile.ts";
import type { Screen } from "../../internal/agents/screen.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { SignalBus } from "../../internal/base/signal-bus.ts";
import type { PaneWriter } from "../../internal/pane/delivery/delivery-attempt.ts";
import type { ScreenSource } from "../../internal/pane/screen/screen-source.ts";
import type { AgentSigns } from "../../internal/pane/state/agent-signs.ts";
import type { FakeClock } from "../support/fake-clock.ts";
import { screenOf } from "../support/screens/screens.ts";

type Call = "stage" | "bufferExists" | "dropBuffer" | "paste" | "enter";

/**
 * A terminal with an agent in it, as a delivery sees them: buffers, a composer, keys. The test defines how the agent
 * reacts to a paste or an Enter; by default the agent draws the text, and takes it on Enter.
 */
export class FakePane implements PaneWriter, ScreenSource, AgentSigns {
  readonly #clock: FakeClock;
  readonly changes = new SignalBus();
  readonly buffers = new Map<string, string>();
  /** Everything that reached the terminal, in order. */
  readonly typed: string[] = [];
  /** The messages that the agent took. */
  readonly taken: string[] = [];
  view: ScreenView = { composer: composerOf("") };
  screen: Screen = screenOf(["> "]);
  dead = false;
  /** A person has turned its input off: Enter is refused. */
  inputOff = false;
  /** The terminal has output that has not arrived here yet. */
  cursorMoved = false;
  hooks = false;
  /** The agent has just started. */
  fresh = false;
  waiting = false;
  /** The bytes that the program has not read. */
  unreadBytes: number | undefined = 0;
  onPaste: (text: string) => void = (text) => this.compose(text);
  onEnter: (nth: number) => void = () => this.take();
  onErase: () => void = () => this.compose((this.view.composer?.text ?? "").split("\n").slice(0, -1).join("\n"));
  #enters = 0;
  #failures: {
    readonly call: Call;
    readonly when: "before" | "after";
    readonly kind: "unavailable" | "precondition";
  }[] = [];
  #prompt: { readonly prompt?: string; readonly at: number } | undefined;
  #printedAt = Number.NEGATIVE_INFINITY;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  get enters(): number {
    return this.#enters;
  }

  /** Makes the next call of this name fail before it takes effect, or after (only the answer is lost). */
  fail(call: Call, when: "before" | "after" = "before", kind: "unavailable" | "precondition" = "unavailable"): void {
    this.#failures.push({ call, when, kind });
  }

  /** Shows this text in the composer. */
  compose(text: string, pasteMarkers = 0): void {
    this.show({ composer: { ...composerOf(text), pasteMarkers } });
  }

  show(view: ScreenView, screen: Screen = this.screen): void {
    this.view = view;
    this.screen = screen;
    this.#printedAt = this.#clock.monotonicMs();
    this.changes.notify();
  }

  /** The agent takes the composer's text. */
  take(view: ScreenView = { composer: composerOf(""), busy: "working" }): void {
    this.taken.push(this.view.composer?.text ?? "");
    this.show(view);
  }

  hook(prompt?: string): void {
    this.hooks = true;
    this.#prompt = prompt === undefined ? { at: this.#clock.monotonicMs() } : { at: this.#clock.monotonicMs(), prompt };
    this.changes.notify();
  }

  after(ms: number, what: () => void): void {
    void this.#clock.sleep(ms).then(what);
  }

  async stage(buffer: string, text: string): Promise<void> {
    await this.#call("stage", () => this.buffers.set(buffer, text));
  }

  bufferExists(buffer: string): Promise<boolean> {
    return this.#call("bufferExists", () => this.buffers.has(buffer));
  }

  async dropBuffer(buffer: string): Promise<void> {
    await this.#call("dropBuffer", () => this.buffers.delete(buffer));
  }

  paste(buffer: string): Promise<"pasted" | "refused"> {
    return this.#call("paste", () => {
      if (this.dead) return "refused";
      const text = this.buffers.get(buffer);
      if (text === undefined) throw new DomainError("precondition", "no such buffer");
      this.buffers.delete(buffer);
      this.typed.push(text);
      this.onPaste(text);
      return "pasted";
    });
  }

  enter(cursor?: { readonly x: number; readonly y: number }): Promise<"sent" | "refused" | "moved"> {
    return this.#call("enter", () => {
      if (this.dead || this.inputOff) return "refused";
      if (cursor !== undefined && this.cursorMoved) return "moved";
      this.typed.push("\r");
      this.onEnter(++this.#enters);
      return "sent";
    });
  }

  /** Treats any text as Ctrl-U: calls `onErase`, which by default removes the composer's last row. */
  async typeAt(text: string): Promise<"sent" | "refused" | "moved"> {
    if (this.cursorMoved) return "moved";
    this.typed.push(text);
    this.onErase();
    return "sent";
  }

  unread(): Promise<number | undefined> {
    return Promise.resolve(this.unreadBytes);
  }

  current(): Promise<Screen> {
    return Promise.resolve(this.screen);
  }

  changed(ms: number, signal: AbortSignal): Promise<void> {
    return this.changes.nextOrAfter(ms, this.#clock, signal);
  }

  quietMs(): number {
    return this.#clock.monotonicMs() - this.#printedAt;
  }

  promptTakenSince(since: number) {
    return this.#prompt !== undefined && this.#prompt.at >= since ? this.#prompt : undefined;
  }

  reportsPrompts(): boolean {
    return this.hooks;
  }

  hasReported(): boolean {
    return !this.fresh;
  }

  isNew(): boolean {
    return this.fresh;
  }

  waitsForPerson(): boolean {
    return this.waiting;
  }

  async #call<T>(call: Call, work: () => T): Promise<T> {
    const at = this.#failures.findIndex((failure) => failure.call === call);
    const [failure] = at < 0 ? [] : this.#failures.splice(at, 1);
    const lost = new DomainError(failure?.kind ?? "unavailable", `tmux is away at ${call}`);
    if (failure?.when === "before") throw lost;
    const answer = work();
    if (failure?.when === "after") throw lost;
    return answer;
  }
}

export const composerOf = (text: string) => ({ top: 0, bottom: 0, text, pasteMarkers: 0 });

/** A profile that reads the fake's view. `generic`: like that of an unknown program. */
export function fakeProfile(pane: FakePane, kind: "known" | "generic" = "known"): AgentProfile {
  return {
    name: "demo",
    command: [],
    launch: ({ command }) => ({ argv: command, env: {}, unsetEnv: [], files: {} }),
    view: () => (kind === "known" ? pane.view : {}),
    idleProof: kind === "known" ? "screen" : "silence",
    settleMs: 25,
    defuse: (text) => ({ type: "safe", text }),
    answer: (...asked) => answerByArrows(VERTICAL, ...asked),
    readHook: () => undefined,
    stateFile: () => undefined,
    readStateFile: () => undefined,
  };
}
