import { hostname } from "node:os";
import { DomainError } from "../../base/errors.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import { People } from "../../pane/attach/attach-people.ts";
import type { Redraw } from "../../pane/screen/drawing.ts";
import { type OutputOptions, OutputStream } from "../../pane/screen/output.ts";
import { Peeker } from "../../pane/screen/peek.ts";
import { StateMonitor, type StateMonitorDeps } from "../../pane/state/state-monitor.ts";
import type { PaneCut } from "../../tmux/pane/pane.ts";
import type { AgentLifecycle } from "../lifecycle/agent-lifecycle.ts";
import type { PaneAccess } from "../lifecycle/pane-access.ts";
import { redrawOfCut } from "./cut-redraw.ts";

export interface AgentTerminalDeps extends Required<Omit<StateMonitorDeps, "source">> {
  readonly lifecycle: AgentLifecycle;
  readonly pane: PaneAccess;
}

export interface AgentTerminalOptions extends OutputOptions {
  readonly stallAfterMs: number;
}

interface Size {
  readonly cols: number;
  readonly rows: number;
}

/**
 * The agent's terminal as the serving half has it: the output, the screen drawn from it, the state judged from both,
 * the people attached, and the answers to peeks. `OutputReader` gives it bytes and cuts: it does not read the pane's
 * output itself, and it types nothing.
 */
export class AgentTerminal {
  readonly output: OutputStream;
  readonly monitor: StateMonitor;
  readonly people: People;
  readonly peeker: Peeker;
  /** Notified when the screen was drawn from a cut and the bytes after the cut begin to arrive. */
  readonly resumed = new SignalBus();
  readonly #lifecycle: AgentLifecycle;
  #ended: string | undefined;

  constructor({ clock, profile, lifecycle, pane, isOurs }: AgentTerminalDeps, options: AgentTerminalOptions) {
    this.#lifecycle = lifecycle;
    const output = new OutputStream({ clock }, options);
    this.output = output;
    this.monitor = new StateMonitor({ clock, profile, source: output, isOurs }, options);
    this.people = new People(
      {
        ...{ clock, size: () => output.emulator, resize: (size) => this.#resize(size) },
        typedInTmux: async () => await lifecycle.pane?.personTypedAt(),
      },
      { own: options },
    );
    const panes = { pane: () => lifecycle.pane, paneForPeek: pane.forPeek };
    this.peeker = new Peeker({ clock, output, ...panes, alive: () => lifecycle.alive });
  }

  /** The reason why nothing more will come; undefined while more may come. */
  get ended(): string | undefined {
    return this.#ended;
  }

  /** To be called when a life of the agent begins to print here. */
  begin(): void {
    this.#ended = undefined;
  }

  /** Ends the watchers' streams. */
  end(reason: string): void {
    this.#ended = reason;
    this.output.bytes.notify();
    this.output.screens.notify();
  }

  take(chunk: Uint8Array): void {
    this.monitor.signs.printed();
    this.output.take(chunk);
  }

  /** Draws the screen as it is at a cut; the bytes that follow are drawn on top of it. */
  async resumeFrom(cut: PaneCut, history: number): Promise<void> {
    await this.output.resumeFrom(redrawOf(cut, history), cut.facts.activityAt);
    this.monitor.signs.redrawn();
    this.output.screens.notify();
    this.resumed.notify();
  }

  /** Draws the screen as tmux had it when the stream had reached `at`; see `OutputStream.redraw`. */
  redraw(cut: PaneCut, history: number, at: bigint, isExact: boolean): Promise<void> {
    this.monitor.signs.redrawn();
    return this.output.redraw(redrawOf(cut, history), at, isExact);
  }

  /** Takes over the pane's size as tmux has it. */
  sized({ cols, rows }: Size): void {
    const { emulator } = this.output;
    if (cols === emulator.cols && rows === emulator.rows) return;
    this.monitor.resized();
    void this.output.resize(cols, rows);
  }

  async #resize({ cols, rows }: Size): Promise<void> {
    const { pane } = this.#lifecycle;
    if (pane === undefined) throw new DomainError("unavailable", "cannot resize the window: tmux is away");
    this.monitor.resized(); // the program may repaint before tmux has answered
    await pane.resize(cols, rows);
    const { cols: width, rows: height } = await pane.facts(); // less than requested if someone has split the window
    await this.output.resize(width, height);
  }
}

function redrawOf(cut: PaneCut, history: number): Redraw {
  return redrawOfCut(cut, { history, freshTitle: hostname() });
}
