import type { FileState, HookEvent } from "../../agents/profile.ts";
import type { Clock } from "../../base/clock.ts";
import type { AgentSigns } from "./agent-signs.ts";
import { HookedTasks } from "./hooked-tasks.ts";
import { FILE_LAG_MS, type JudgeSignals, type ProcessSign } from "./judge.ts";

/**
 * One life of the agent, from its start, or from the start of observation, to its end. Times: monotonic ms.
 */
interface Life {
  /** Counts the starts that were seen. */
  readonly number: number;
  readonly startedAt: number;
  readonly submittedAt?: number;
  readonly typedAt?: number;
}

/** The content of the agent's own state file. */
type FileSign =
  | { readonly type: "unknown" }
  | { readonly type: "read"; readonly state: FileState; readonly at: number }
  /** The dialog behind the file's "waiting" has been answered: until this time the file may still report it. */
  | { readonly type: "outdated"; readonly until: number };

/**
 * All evidence of the agent's activity except the screen: its process, hooks, state file and output, and the text typed
 * into it. Each source calls the method named after it.
 */
export class ReportedSigns implements Omit<AgentSigns, "waitsForPerson"> {
  readonly tasks = new HookedTasks();
  readonly #clock: Clock;
  readonly #learned: () => void;
  #process: ProcessSign = { type: "expected" };
  #processSince: number;
  #life: Life;
  #hook: JudgeSignals["hook"];
  #prompt: { readonly prompt?: string; readonly at: number } | undefined;
  #hooksLive = false;
  #file: FileSign = { type: "unknown" };
  #lastOutputAt: number | undefined;
  #drawnAt = 0;
  #endedAt = 0;
  #lastWorkAt: number | undefined;

  /** Calls `learned` for each sign that may change the state, so that a state held over a resize is judged again. */
  constructor(clock: Clock, learned: () => void) {
    this.#clock = clock;
    this.#learned = learned;
    this.#life = { number: 0, startedAt: clock.monotonicMs() };
    this.#processSince = clock.monotonicMs();
  }

  /** A number that differs for each life of the agent. */
  get life(): number {
    return this.#life.number;
  }

  /**
   * True if the agent is alive and something was drawn after its last end: before that, the screen may be from the life
   * that ended.
   */
  get hasDrawn(): boolean {
    return this.#process.type === "alive" && this.#drawnAt >= this.#endedAt;
  }

  get process(): ProcessSign {
    return this.#process;
  }

  get file(): JudgeSignals["file"] {
    return this.#file.type === "read" ? { state: this.#file.state, at: this.#file.at } : undefined;
  }

  /** A new life of the agent has begun: what was known of the old life no longer holds. */
  started(): void {
    this.#life = { number: this.#life.number + 1, startedAt: this.#clock.monotonicMs() };
    // An agent may have reported before its process was first seen.
    if (this.#process.type !== "expected") this.#hook = undefined;
    this.#file = { type: "unknown" };
    this.tasks.clear();
    this.setProcess({ type: "alive" });
  }

  /** The agent was already running when this process began to look. */
  resumed(): void {
    this.setProcess({ type: "alive" });
  }

  setProcess(sign: ProcessSign): void {
    if (JSON.stringify(sign) === JSON.stringify(this.#process)) return;
    this.#process = sign;
    this.#processSince = this.#clock.monotonicMs();
    if (sign.type === "dead") this.#endedAt = this.#processSince;
    this.#learned();
  }

  heard(event: HookEvent): void {
    if (event.type === "session") return;
    const at = this.#clock.monotonicMs();
    this.#hooksLive = true;
    // A turn that left sub-agents behind is followed by a prompt: until then only the sub-agents are active.
    if (event.type === "activity" && this.#hook !== undefined && leavesAgents(this.#hook.event)) return;
    this.#hook = { event, at };
    this.tasks.hear(event, at);
    if (event.type === "prompt-submitted") {
      this.#prompt = event.prompt === undefined ? { at } : { at, prompt: event.prompt };
    }
    this.#learned();
  }

  /** Takes the current content of the agent's state file; undefined: there is no content that can be trusted. */
  read(state: FileState | undefined): void {
    const now = this.#clock.monotonicMs();
    const before = this.#file;
    if (before.type === "outdated" && state?.type === "waiting" && now < before.until) return;
    this.#file = state === undefined ? { type: "unknown" } : { type: "read", state, at: now };
    if (before.type === "read" && fileKey(before.state) === fileKey(state)) this.#file = before;
    else if (before.type === "read" || state !== undefined) this.#learned();
  }

  /**
   * Notes that a text was typed at `at` (monotonic ms): until the agent prints something, it may be hanging. Undefined:
   * no text waits to be drawn.
   */
  typedInto(at: number | undefined): void {
    const { typedAt: _, ...life } = this.#life;
    this.#life = at === undefined ? life : { ...life, typedAt: at };
    this.#learned();
  }

  submitted(): void {
    this.#life = { ...this.#life, submittedAt: this.#clock.monotonicMs() };
    this.#learned();
  }

  /**
   * The dialog on the screen has been answered and is gone: earlier reports of "waiting" are outdated, even in a state
   * file that has still to be written again.
   */
  answered(): void {
    if (this.#hook?.event.type === "waiting") this.#hook = undefined;
    if (this.#file.type === "read" && this.#file.state.type === "waiting") {
      this.#file = { type: "outdated", until: this.#clock.monotonicMs() + FILE_LAG_MS };
    }
    this.#learned();
  }

  printed(): void {
    this.#lastOutputAt = this.#clock.monotonicMs();
    this.#drawnAt = this.#lastOutputAt;
  }

  /** Notes that the whole screen was read from tmux. */
  redrawn(): void {
    this.#drawnAt = this.#clock.monotonicMs();
  }

  /** Notes that the agent's processes compute or write, even if it prints nothing. */
  worked(): void {
    this.#lastWorkAt = this.#clock.monotonicMs();
  }

  promptTakenSince(since: number): { readonly prompt?: string; readonly at: number } | undefined {
    return this.#prompt !== undefined && this.#prompt.at >= since ? this.#prompt : undefined;
  }

  reportsPrompts(): boolean {
    return this.#hooksLive;
  }

  hasReported(): boolean {
    return this.promptTakenSince(this.#life.startedAt) !== undefined;
  }

  isNew(): boolean {
    return this.#life.number > 0 && this.#life.submittedAt === undefined && !this.hasReported();
  }

  /** All signs, to be judged together with the screen. */
  signals(): Omit<JudgeSignals, "screen" | "everReady"> {
    const { file } = this;
    const { startedAt, submittedAt, typedAt } = this.#life;
    return {
      process: this.#process,
      processSince: this.#processSince,
      startedAt,
      hook: this.#hook,
      file,
      lastOutputAt: this.#lastOutputAt,
      lastWorkAt: this.#lastWorkAt,
      submittedAt,
      typedAt,
    };
  }
}

function leavesAgents(event: HookEvent): boolean {
  return event.type === "turn-ended" && (event.background ?? []).some(({ kind }) => kind !== "shell");
}

function fileKey(state: FileState | undefined): string {
  return state?.type === "idle" ? `idle ${state.background ?? ""}` : (state?.type ?? "");
}
