import { randomUUID } from "node:crypto";
import { closeSync } from "node:fs";
import { join } from "node:path";
import { aborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import type { Environment } from "../../base/environment.ts";
import type { Task } from "../../base/task-group.ts";
import { makeFifoIn, readOpenFifo } from "../../files/fifo.ts";
import type { PinnedFolder } from "../../files/pinned-folder.ts";
import { EMULATOR_SCROLLBACK } from "../../pane/screen/output.ts";
import type { PaneCut, TmuxPane } from "../../tmux/pane/pane.ts";
import { isTmuxAway } from "../lifecycle/tmux-away.ts";
import type { AgentTerminal } from "./agent-terminal.ts";

/** The time between two redraws in a flood, so that drawing in between shows progress. */
const REDRAW_PAUSE_MS = 100;
/** After this long without output, the screen shows the output up to a known offset. */
const QUIET_MS = 50;

/**
 * Passes the pane's output to the agent's terminal. Each cut has a FIFO of its own: bytes that an earlier pipe left in
 * a shared one would come after the cut, and be drawn twice.
 */
export class OutputReader implements Task {
  readonly #folder: PinnedFolder;
  readonly #env: Environment;
  readonly #terminal: AgentTerminal;
  readonly #clock: Clock;
  readonly #failed = Promise.withResolvers<never>();
  #reading: { readonly stop: AbortController; readonly done: Promise<void>; readonly fifo: string } | undefined;
  #pane: TmuxPane | undefined;
  /** The process whose life the screen showed before `renew`. */
  #endedPid: number | undefined;

  /** `folder`: where the FIFOs are created; the agent can access it. */
  constructor(
    deps: { readonly clock: Clock; readonly terminal: AgentTerminal },
    options: { readonly folder: PinnedFolder; readonly env: Environment },
  ) {
    this.#clock = deps.clock;
    this.#terminal = deps.terminal;
    this.#folder = options.folder;
    this.#env = options.env;
    this.#failed.promise.catch(() => {}); // `run` throws it
  }

  /**
   * Draws the pane again and pipes its output from now on. tmux does not pipe a dead pane: then only its last screen is
   * drawn, and the result is false.
   */
  async arm(pane: TmuxPane): Promise<boolean> {
    await this.#disarm();
    this.#pane = pane;
    if ((await pane.facts()).dead) {
      await this.#resumeFrom(await pane.cut(EMULATOR_SCROLLBACK));
      return false;
    }
    const fifo = `output-${randomUUID()}.fifo`;
    await makeFifoIn(this.#folder, fifo, this.#env);
    const fd = this.#folder.openFifo(fifo);
    try {
      await this.#resumeFrom(await pane.cut(EMULATOR_SCROLLBACK, join(this.#folder.path, fifo)));
    } catch (err) {
      // First the FIFO, then its reader: a shell that opens a FIFO without a reader waits for one.
      this.#folder.remove(fifo);
      closeSync(fd);
      throw err;
    }
    const stop = new AbortController();
    const done = readOpenFifo(fd, (chunk) => this.#terminal.take(chunk), stop.signal);
    done.catch((err: unknown) => this.#failed.reject(err));
    this.#reading = { stop, done, fifo };
    return true;
  }

  /**
   * Starts the screen again for a new life. tmux shows the ended life (`endedPid`) until the new one begins; until
   * then, the screen is not redrawn from tmux.
   */
  renew(endedPid: number | undefined): Promise<void> {
    this.#endedPid = endedPid;
    return this.#terminal.output.renew();
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      await Promise.race([aborted(signal), this.#failed.promise, this.#keepDrawn(signal)]);
    } finally {
      await this.#disarm();
    }
  }

  #resumeFrom(cut: PaneCut): Promise<void> {
    return this.#terminal.resumeFrom(cut, EMULATOR_SCROLLBACK);
  }

  /**
   * While the drawing cannot follow a flood, fetches the screen from tmux instead. When the flood is over, draws the
   * exact screen.
   */
  async #keepDrawn(signal: AbortSignal): Promise<void> {
    const { output } = this.#terminal;
    for (;;) {
      await output.lags.next(signal);
      while (output.isBehind || !output.isExact) {
        await this.#redraw(signal).catch((err: unknown) => {
          if (!isTmuxAway(err)) throw err;
        });
        await this.#clock.sleep(REDRAW_PAUSE_MS, signal);
      }
    }
  }

  async #redraw(signal: AbortSignal): Promise<void> {
    const { output } = this.#terminal;
    const pane = this.#pane;
    if (pane === undefined) return;
    const from = output.ring.end;
    if (output.isBehind) {
      // The cut was taken after `from`: bytes in between are drawn twice, which the next redraw repairs.
      const cut = await pane.cut(0);
      if (this.#isOfThisLife(cut)) await this.#terminal.redraw(cut, 0, from, false);
      return;
    }
    if (output.quietMs() < QUIET_MS || output.drawnTo < from) return;
    const cut = await pane.cut(EMULATOR_SCROLLBACK);
    // Output that tmux printed before the cut would have arrived by now.
    await this.#clock.sleep(QUIET_MS, signal);
    if (output.ring.end === from && this.#isOfThisLife(cut))
      await this.#terminal.redraw(cut, EMULATOR_SCROLLBACK, from, true);
  }

  #isOfThisLife({ facts }: PaneCut): boolean {
    return facts.pid !== this.#endedPid;
  }

  async #disarm(): Promise<void> {
    const reading = this.#reading;
    this.#reading = undefined;
    if (reading === undefined) return;
    this.#folder.remove(reading.fifo); // before its reader goes, as in `arm`
    reading.stop.abort();
    await reading.done.catch(() => {});
  }
}
