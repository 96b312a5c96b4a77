import type { Clock } from "../base/clock.ts";
import { UnsubmittedTexts } from "../pane/delivery/unsubmitted-texts.ts";
import type { ProcessSign } from "../pane/state/judge.ts";
import type { ReportedSigns } from "../pane/state/reported-signs.ts";
import { StateMonitor, type StateMonitorDeps } from "../pane/state/state-monitor.ts";
import type { Cleaner } from "../session/nudge-request.ts";
import type { PaneFacts } from "../tmux/pane/pane.ts";
import { CaptureScreen } from "./capture-screen.ts";
import { isShell } from "./shells.ts";
import type { TmuxSession, TmuxSessionFacts } from "./tmux-session.ts";

/** Facts about an agent program. */
export interface LocalProgram {
  /** e.g. `claude`. */
  readonly provider: string;
  readonly profile: StateMonitorDeps["profile"];
  /** The reason why there is no agent in the pane, though something runs; undefined when there is one. */
  readonly absent?: string | undefined;
  readonly pid: number;
  /** Makes a message safe for this agent. */
  readonly clean: Cleaner;
  /** Its start, wall clock, ms, if the system reports it. */
  readonly startedAt?: number | undefined;
  /** The content of the agent's own state file; undefined if it keeps none. */
  readState(): Promise<Parameters<ReportedSigns["read"]>[0]>;
}

export type IdentifyProgram = (facts: PaneFacts, session: TmuxSessionFacts) => LocalProgram;

/** How often the agent's own state file is read. */
const STATE_FILE_MS = 100;
/** So long that a program that watches only for seconds never reports an agent as stalled. */
const STALL_AFTER_MS = 600_000;

/** The agent in a local session, watched by captures for as long as `run` runs. */
export class LocalAgent {
  readonly source: CaptureScreen;
  readonly monitor: StateMonitor;
  /** Texts that this process typed and did not see leave the composer. */
  readonly standing = new UnsubmittedTexts();
  readonly program: LocalProgram;
  readonly #clock: Clock;
  readonly #identify: () => LocalProgram;
  #facts: PaneFacts;
  #running: string | undefined;

  private constructor(
    clock: Clock,
    session: TmuxSession,
    facts: PaneFacts,
    known: TmuxSessionFacts,
    identify: IdentifyProgram,
  ) {
    this.#clock = clock;
    this.#facts = facts;
    this.#identify = () => identify(this.#facts, known);
    this.program = this.#identify();
    this.#running = processOf(facts);
    const quietMs = known.lastOutputAt === undefined ? 0 : Math.max(0, clock.now() - known.lastOutputAt - 1000);
    const deps = { clock, pane: session.pane, onFacts: (seen: PaneFacts | undefined) => this.#look(seen) };
    this.source = new CaptureScreen(deps, clock.monotonicMs() - quietMs);
    const isOurs: StateMonitorDeps["isOurs"] = (composer, quiet) =>
      this.standing.isOurs(composer, quiet, clock.monotonicMs());
    this.monitor = new StateMonitor(
      { clock, profile: this.program.profile, source: this.source, isOurs },
      { stallAfterMs: STALL_AFTER_MS },
    );
    this.monitor.signs.setProcess(this.#sign(this.program.absent));
  }

  static async meet(
    clock: Clock,
    session: TmuxSession,
    identify: IdentifyProgram,
  ): Promise<{ readonly agent: LocalAgent; readonly known: TmuxSessionFacts }> {
    const [facts, known] = await Promise.all([session.pane.facts(), session.facts()]);
    return { agent: new LocalAgent(clock, session, facts, known, identify), known };
  }

  /** The facts as of the last look. */
  get facts(): PaneFacts {
    return this.#facts;
  }

  /** The reason why no agent can be addressed; undefined while the agent runs. */
  get absent(): string | undefined {
    if (this.#running === undefined) return "the session is gone";
    if (this.#facts.dead) return "its process has ended";
    return this.program.absent ?? this.#changed;
  }

  #changed: string | undefined;

  /** Watches until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.monitor.run(signal), this.#readStates(signal)]);
  }

  async #readStates(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.monitor.signs.read(await this.program.readState());
      await this.#clock.sleep(STATE_FILE_MS, signal).catch(() => {});
    }
  }

  #look(facts: PaneFacts | undefined): void {
    const running = facts === undefined ? undefined : processOf(facts);
    if (facts !== undefined) this.#facts = facts;
    // Below a shell that stays in the foreground (`sh -c "claude; sh"`) the program changes unseen.
    if (running !== this.#running || (facts !== undefined && isShell(facts.currentCommand))) {
      this.#running = running;
      // Another program runs now, perhaps the agent's shell, which must not get messages for the agent.
      this.#changed = facts === undefined || facts.dead ? undefined : this.#identify().absent;
    }
    this.monitor.signs.setProcess(this.#sign(this.absent));
  }

  #sign(absent: string | undefined): ProcessSign {
    return absent === undefined ? { type: "alive" } : { type: "dead", restartDue: false, crashLoop: false };
  }
}

function processOf(facts: PaneFacts): string {
  return `${facts.pid} ${facts.dead} ${facts.currentCommand}`;
}

/** The facts with the exit code: some builds of tmux miss the end of a process until they are prompted to check. */
export async function withExitCode(facts: PaneFacts, session: TmuxSession): Promise<PaneFacts> {
  const unseen = facts.dead && facts.deadStatus === undefined && facts.deadSignal === undefined;
  return unseen ? await session.pane.recoverDeadStatus() : facts;
}
