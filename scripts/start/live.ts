import type { Clock } from "../../internal/base/clock.ts";
import { DomainError, errorText } from "../../internal/base/errors.ts";
import { styledText } from "../../internal/base/sanitise.ts";
import { runTasks } from "../../internal/base/task-group.ts";
import type { AgentStatus } from "../../internal/session/agent-status.ts";
import type { RunningAgent } from "./agent-session.ts";
import type { GtCommand } from "./gt-commands.ts";
import { receiptLine } from "./receipts.ts";
import { renderView } from "./view.ts";
import type { Window } from "./window.ts";

const STATUS_EVERY_MS = 400;
const SCREEN_EVERY_MS = 60;
const AGAIN_AFTER_MS = 500;
const MOST_LINES = 100;
const MOST_RECEIPTS = 20;

export interface LiveOptions {
  readonly colour: boolean;
  readonly commands: readonly GtCommand[];
}

/** The live view: keeps the state of one agent and draws it. */
export class Live {
  readonly #clock: Clock;
  readonly #agent: RunningAgent;
  readonly #window: Window;
  readonly #options: LiveOptions;
  #status: AgentStatus | undefined;
  #trouble = "";
  #screen: readonly string[] = [];
  #receipts: readonly string[] = [];

  constructor(clock: Clock, agent: RunningAgent, window: Window, options: LiveOptions) {
    this.#clock = clock;
    this.#agent = agent;
    this.#window = window;
    this.#options = options;
  }

  /** Runs until `signal` aborts or the agent has ended successfully; a failed agent stays on the screen. */
  run(signal: AbortSignal): Promise<void> {
    return runTasks(signal, [{ run: (stop) => this.#followStatus(stop) }, { run: (stop) => this.#followScreen(stop) }]);
  }

  draw(): void {
    const { columns, rows } = this.#window;
    const { address, listen } = this.#agent;
    const lines = renderView({
      ...{ columns, rows, address, listen },
      ...this.#options,
      status: this.#status,
      trouble: this.#trouble,
      screen: this.#screen,
      receipts: this.#receipts,
      now: this.#clock.now(),
    });
    this.#window.draw(lines);
  }

  /** Called when a nudge has ended: fetches and shows its full receipt. */
  async nudgeEnded(requestId: string, signal: AbortSignal): Promise<void> {
    const receipt = await this.#agent.backend.getNudge(requestId, signal).catch(() => undefined);
    if (receipt === undefined) return;
    this.#receipts = [...this.#receipts, receiptLine(receipt, this.#clock.now())].slice(-MOST_RECEIPTS);
    this.draw();
  }

  async #followStatus(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        this.#status = await this.#agent.backend.status(signal);
        this.#trouble = "";
      } catch (err) {
        this.#explain(err, signal);
      }
      this.draw();
      if (endedWell(this.#status)) return;
      await this.#clock.sleep(STATUS_EVERY_MS, signal);
    }
  }

  async #followScreen(signal: AbortSignal): Promise<void> {
    const request = { mode: "screen", lines: MOST_LINES, intervalMs: SCREEN_EVERY_MS, ansi: true, epoch: "" } as const;
    while (!signal.aborted) {
      try {
        for await (const update of this.#agent.backend.watch(request, signal)) {
          if (update.kind === "snapshot" || update.kind === "change") {
            this.#screen = update.output.replace(/\n$/, "").split("\n").map(styledText);
            this.draw();
          }
        }
      } catch (err) {
        this.#explain(err, signal);
      }
      await this.#clock.sleep(AGAIN_AFTER_MS, signal);
    }
  }

  #explain(err: unknown, signal: AbortSignal): void {
    signal.throwIfAborted();
    if (!(err instanceof DomainError)) throw err;
    this.#trouble = `no answer from the sidecar: ${errorText(err)}`;
  }
}

function endedWell(status: AgentStatus | undefined): boolean {
  return status !== undefined && !status.alive && status.exitCode === 0;
}
