import type { AgentProfile } from "../../agents/profile.ts";
import { untilAborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { Task } from "../../base/task-group.ts";
import type { MainLine } from "../../pane/screen/main-lines.ts";
import type { OutputStream } from "../../pane/screen/output.ts";
import { joinRows } from "../../pane/screen/peek-text.ts";
import type { EventRecord, StandingLines } from "../../session/event-records.ts";
import type { SessionEvents } from "../../session/events.ts";
import type { Gap } from "../../session/types.ts";
import { FinalLines, hashesOf, STANDING_MAX } from "./final-lines.ts";

export interface ReportedLinesDeps {
  readonly clock: Clock;
  readonly profile: AgentProfile;
  readonly events: SessionEvents;
  readonly output: OutputStream;
  readonly keep: (record: EventRecord) => boolean;
}

/** Reported lines that scroll off are stored for a later process within this time. */
const KEEP_MS = 250;

/** An agent redraws its screen within this time after a resize of the window. */
const REDRAW_MS = 5000;

/** A row of line-drawing characters: the upper edge of an input box. */
const BORDER = /^[\s\u2500-\u259f]+$/;

/** Reports the lines of the agent's terminal, each once, and remembers them for a later process. */
export class ReportedLines implements Task {
  readonly #deps: ReportedLinesDeps;
  readonly #lines: FinalLines;
  readonly #told = new SignalBus();
  #isNew: boolean;
  #isDrawn = false;
  /** When the window was last resized or the history last cleared; monotonic, ms. */
  #redrawnAt = 0;
  #kept: EventRecord | undefined;
  #cuts = 0;
  /** Version of the screen that was reported last. */
  #toldVersion = -1;

  /** `standing`: the lines on the screen that an earlier process reported; undefined: it reported nothing. */
  constructor(deps: ReportedLinesDeps, standing: StandingLines | undefined) {
    this.#deps = deps;
    this.#isNew = standing === undefined;
    const { lines = [], above = 0, isOpen = false } = standing ?? {};
    const known = { standing: lines, above, isOpen, redraws: deps.profile.idleProof !== "silence" };
    this.#lines = new FinalLines((text) => deps.events.print(text), known);
    deps.output.listen({
      scrolled: (lines) => this.#scrolled(lines),
      vanished: (lines) => this.#vanished(lines),
      erasing: () => this.#erasing(),
      lost: (range) => this.lost(range),
      cleared: () => {
        this.#lines.cleared();
        this.#redrawn();
      },
      moved: (isResized) => this.#moved(isResized),
    });
  }

  /** True if the present screen was reported. */
  get isTold(): boolean {
    return this.#toldVersion === this.#deps.output.emulator.version;
  }

  /** The reported lines that are on the screen, or may come back to it, for a later process. */
  get standing(): EventRecord & { readonly type: "standing" } {
    const { remembered, isOpen } = this.#lines;
    const { lines, above } = this.#isDrawn ? this.#reported() : remembered;
    return { type: "standing", lines, above: above > 0 ? above : undefined, isOpen: isOpen || undefined };
  }

  #reported(): { readonly lines: readonly number[]; readonly above: number } {
    const lines = this.#deps.output.emulator.reportedEnd(STANDING_MAX).slice(-STANDING_MAX);
    return { lines: hashesOf(lines), above: lines.filter(({ isStanding }) => !isStanding).length };
  }

  /**
   * Call it when the screen has been drawn again. If no process has reported lines before, the lines above the screen
   * are new too.
   */
  drawn(): void {
    const { emulator } = this.#deps.output;
    if (!this.#isDrawn && !this.#isNew) this.#lines.found(emulator.standingLines());
    this.#isDrawn = true;
    if (!this.#isNew) return;
    this.#isNew = false;
    this.#lines.scrolled(emulator.historyOfLines().map((line) => ({ ...line, isReported: false })));
  }

  run(signal: AbortSignal): Promise<void> {
    return untilAborted(signal, () => this.#keepTold(signal));
  }

  /** Stores lines that have scrolled off: they may come back to the screen of a later process. */
  async #keepTold(signal: AbortSignal): Promise<void> {
    await this.#told.next(signal);
    await this.#deps.clock.sleep(KEEP_MS, signal);
    this.#keepStanding();
  }

  /** Reports the lines on the screen. `isLast`: no one types there any more. */
  tellScreen(isLast = false): void {
    const { output, events } = this.#deps;
    const { emulator } = output;
    this.#toldVersion = emulator.version;
    this.#settle();
    const rows = isLast ? emulator.rows : this.#outputRows();
    if (emulator.alternate) this.#lines.stoodAlternate(joinRows(emulator.rowsText(emulator.rows).slice(0, rows)));
    else this.#tellStanding(rows, isLast);
    events.flush();
    this.#keepStanding();
  }

  #moved(isResized: boolean): void {
    if (isResized) this.#redrawn();
    this.#keepStanding();
  }

  #scrolled(lines: readonly MainLine[]): void {
    this.#settle();
    this.#lines.scrolled(lines);
    this.#told.notify();
  }

  #redrawn(): void {
    this.#lines.redrawn();
    this.#redrawnAt = this.#deps.clock.monotonicMs();
  }

  #settle(): void {
    if (this.#deps.clock.monotonicMs() - this.#redrawnAt >= REDRAW_MS) this.#lines.settled();
  }

  /** Stores the lines on the screen for a later process, which may find them there. */
  #keepStanding(): void {
    const record = this.standing;
    if (JSON.stringify(record) === JSON.stringify(this.#kept)) return;
    if (this.#deps.keep(record)) this.#kept = record;
  }

  /** Reports the lines on the first `rows` rows of the main screen. */
  #tellStanding(rows: number, isFinal: boolean): void {
    const { emulator } = this.#deps.output;
    const lines = emulator.standingLines();
    const end = emulator.screenTop + rows;
    const shown = lines.filter((line) => line.end <= end);
    const told = shown.slice(0, shown.findLastIndex(({ text }) => text.trim() !== "") + 1);
    const { isAtRowEnd } = emulator;
    // The program may continue in the cursor's line, unless it has ended or erases it.
    this.#lines.stood(told.map((line) => ({ ...line, hasMore: !isFinal && line.hasCursor && isAtRowEnd })));
    emulator.markReported(told);
  }

  /** The rows above the input box: the box, a person's text in it and the rows below it are not output. */
  #outputRows(): number {
    const { profile, output } = this.#deps;
    const { emulator } = output;
    const top = profile.view(emulator.screen()).composer?.top;
    if (top === undefined) return emulator.rows;
    const border = emulator.screen().lines[top - 1]?.text ?? "";
    return BORDER.test(border) ? top - 1 : top;
  }

  /**
   * Reports text that a program erases from the screen, unless the program draws its screen itself: then it erases
   * frames.
   */
  #erasing(): void {
    const { emulator } = this.#deps.output;
    if (emulator.standingLines().every(({ isReported, text }) => isReported || text === "")) return;
    if (!this.#drawsItself()) this.#tellStanding(emulator.rows, true);
  }

  /**
   * Reports lines that left the screen while the window's size was unknown here, unless the program draws its screen
   * itself.
   */
  #vanished(lines: readonly MainLine[]): boolean {
    if (this.#drawsItself()) return false;
    this.#lines.scrolled(lines);
    this.#keepStanding();
    return true;
  }

  #drawsItself(): boolean {
    const { profile, output } = this.#deps;
    const { composer, dialog, busy } = profile.view(output.emulator.screen());
    return composer !== undefined || dialog !== undefined || busy !== undefined;
  }

  /** To be called when the life that printed the lines has ended. */
  interrupted(): void {
    this.#lines.interrupted();
  }

  /** Reports output that never became lines. */
  lost({ first, to, reason }: Gap): void {
    // This process begins with the first cut: earlier output belongs to no process, or to one whose end is reported.
    if (reason === "restart" && this.#cuts++ === 0) return;
    this.#lines.interrupted();
    const how = reason === "restart" ? "restart" : "truncated";
    const size = to > first && how === "truncated" ? `${to - first} bytes of output` : "output";
    this.#deps.events.lost(how, `${size} passed without becoming lines`);
  }
}
