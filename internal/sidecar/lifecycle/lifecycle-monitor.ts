import { firstOf } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { Task } from "../../base/task-group.ts";
import { type AgentExit, decideRestart, exitCodeOf, type RestartMode } from "../../process/restart-policy.ts";
import type { CommandClient } from "../../tmux/control/command-client.ts";
import { type PaneFacts, TmuxPane, type TmuxPaneOptions } from "../../tmux/pane/pane.ts";
import type { PaneCommand } from "../../tmux/pane/pane-command.ts";
import { type AgentLifecycle, isOutOfMemoryPossible } from "./agent-lifecycle.ts";
import type { LifecycleListener } from "./lifecycle-listener.ts";
import { isTmuxAway } from "./tmux-away.ts";

/** The supervising half, which can reach the processes beside the agent and run tmux. */
interface SessionHelp {
  /** Reports the agent's process, which is to be ended with its session. */
  agent(pid: number): void;
  /** The fate of the session of the agent with this pid; undefined if it is not known (yet). */
  session(pid: number): Promise<"there" | "gone" | undefined>;
  /** Facts of a process; without `startTicks` it has ended; undefined if the other half does not answer. */
  process(
    pid: number,
    what: { readonly work: false },
  ): Promise<{ readonly startTicks?: number | undefined } | undefined>;
  /** How many processes beside the agent the kernel has killed for lack of memory; undefined if unknown. */
  oomKills(): Promise<number | undefined>;
  /** Asks for a new tmux server, and a new agent with it. */
  renew(): void;
}

/**
 * The part of tmux's client that this monitor uses.
 * @internal
 */
export type SessionClient = Pick<
  CommandClient,
  "command" | "script" | "onNotification" | "attached" | "isAttached" | "isSessionMissing"
>;

export interface LifecycleMonitorDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly client: SessionClient;
  readonly help: SessionHelp;
  readonly listener: LifecycleListener;
  readonly lifecycle: AgentLifecycle;
  /** The agent that the supervising half has started, see `ControlHello`; undefined while unknown. */
  readonly agentId: () => string | undefined;
}

export interface LifecycleMonitorOptions {
  readonly session: string;
  readonly captures: TmuxPaneOptions;
  readonly agent: PaneCommand;
  readonly restart: RestartMode;
  /** Aborted once the agent must end permanently: it is not restarted then. */
  readonly stopAsked: AbortSignal;
}

/** How often the pane is checked if there is no notification. */
const LOOK_EVERY_MS = 1000;
/** The pause after a failed check (tmux is away). */
const RETRY_MS = 50;
/** How often to ask for the agent's fate while tmux or the session is away. */
const LOST_LOOK_MS = 50;
/** A session that does not appear within this time, although no end is known, is recreated. */
const MAKE_MS = 5000;
/** How an agent ends whose pane or tmux server is gone: its closed terminal sends SIGHUP. */
const HUNG_UP: AgentExit = { signal: 1 };
/** How often, and with which pauses, tmux is asked for the agent's exit before it counts as unknown. */
const STATUS_LOOKS = 20;
const STATUS_LOOK_MS = 100;
/**
 * Output that tmux has read arrives within this time. If it is missing in this many checks in a row, it goes elsewhere.
 */
const DIVERTED_MS = 2000;
const DIVERTED_LOOKS = 2;

interface FollowedPane {
  readonly id: string;
  /** The pid of the life whose output is piped. */
  armedFor?: number | undefined;
  /** True if the pipe that tmux may have for the pane is ours. */
  isPiped: boolean;
  /** In how many checks in a row output was missing. */
  missing: number;
}

/**
 * Keeps the agent's lifecycle, as tmux shows it: finds the pane, notices the agent's start and end, restarts it by the
 * policy, keeps the output piped. If the session or the pane is gone, the agent has ended too. If the tmux server is
 * lost, the supervising half makes a new one, and the agent with it, whatever the policy says. Does not start the first
 * agent and ends none, which the supervising half does, and does not read the output.
 */
export class LifecycleMonitor implements Task {
  readonly #deps: LifecycleMonitorDeps;
  readonly #options: LifecycleMonitorOptions;
  readonly #woken = new SignalBus();
  /** The pane that was followed last; undefined before one was found in the session. */
  #followed: FollowedPane | undefined;
  #quickEnds = 0;

  constructor(deps: LifecycleMonitorDeps, options: LifecycleMonitorOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  get #lifecycle(): AgentLifecycle {
    return this.#deps.lifecycle;
  }

  async run(signal: AbortSignal): Promise<void> {
    const stopListening = this.#deps.client.onNotification(() => this.#woken.notify());
    try {
      while (!signal.aborted) {
        try {
          await this.#attached(signal);
          await this.#watchPane(signal);
        } catch (err) {
          if (signal.aborted) return;
          if (!isTmuxAway(err)) throw err;
          this.#deps.logger.debug({ err }, "tmux is away");
        }
        this.#lifecycle.pane = undefined;
        await this.#deps.clock.sleep(RETRY_MS, signal).catch(() => {});
      }
    } finally {
      stopListening();
    }
  }

  /** Resolves when tmux answers. Until then, checks whether the agent's session or process still exists. */
  async #attached(signal: AbortSignal): Promise<void> {
    const { client, clock, help } = this.#deps;
    const since = clock.monotonicMs();
    const attached = client.attached(signal);
    for (;;) {
      const isAttached = await firstOf(
        signal,
        () => attached.then(() => true),
        (stop) => clock.sleep(LOST_LOOK_MS, stop).then(() => false),
      );
      if (isAttached) return;
      if (client.isSessionMissing) await this.#seekSession(clock.monotonicMs() - since > MAKE_MS, signal);
      else if (this.#lifecycle.alive && (await isGone(help, this.#lifecycle.pid))) await this.#ended(signal);
    }
  }

  /**
   * Handles a server without the session, or a session without the pane. `isOverdue`: a session should exist by now.
   */
  async #seekSession(isOverdue: boolean, signal: AbortSignal): Promise<void> {
    const { help } = this.#deps;
    const isExpected = this.#lifecycle.pid === 0 || this.#lifecycle.exit !== undefined;
    if (this.#lifecycle.isFinished || (isExpected && !isOverdue)) return;
    if (this.#lifecycle.pid !== 0 && (await help.session(this.#lifecycle.pid)) !== "gone") return;
    await this.#handleEnd(HUNG_UP, signal, () => this.#renew(signal));
  }

  /**
   * Handles the end of a process that the client cannot ask tmux about, because the session, the pane or the server is
   * gone too.
   */
  async #ended(signal: AbortSignal): Promise<void> {
    if ((await this.#deps.help.session(this.#lifecycle.pid)) === undefined) this.#vanished();
    else await this.#seekSession(false, signal);
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { client, clock, help } = this.#deps;
    this.#followed = undefined;
    help.renew();
    // Until the old server is gone, its panes must not be taken for the agent's.
    const end = clock.monotonicMs() + MAKE_MS;
    while (client.isAttached && clock.monotonicMs() < end) await clock.sleep(LOST_LOOK_MS, signal);
  }

  /**
   * Reports the end of an agent that was lost with its tmux server, or in whose place another was put. The restart
   * policy does not apply.
   */
  #vanished(): void {
    this.#lifecycle.ended(HUNG_UP, this.#deps.clock.now());
    this.#deps.listener.dead({ exit: HUNG_UP, restartDue: true, crashLoop: false });
    this.#deps.logger.warn({ pid: this.#lifecycle.pid }, "agent ended without its end being seen");
  }

  /** The agent's pane, wherever on the server it is; in a new session, the first pane. */
  async #findPane(signal: AbortSignal): Promise<TmuxPane> {
    const { client } = this.#deps;
    const { session, captures } = this.#options;
    const panes = await listPanes(client);
    const own =
      panes.find(({ pid }) => pid === this.#lifecycle.pid) ?? panes.find(({ id }) => id === this.#followed?.id);
    if (own !== undefined) return new TmuxPane(client, own.id, captures);
    if (this.#followed === undefined) return await TmuxPane.find(client, session, captures);
    await this.#seekSession(false, signal);
    throw new DomainError("unavailable", "the agent's pane is gone");
  }

  /** Follows one pane until tmux goes away, and then throws. */
  async #watchPane(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const pane = await this.#findPane(signal);
    const followed = this.#followed?.id === pane.id ? this.#followed : { id: pane.id, isPiped: false, missing: 0 };
    this.#followed = followed;
    const met = await pane.facts();
    await this.#noticeLife(met);
    // When only the client was lost, the pipe of the same life continues: arming again would leave a gap.
    if (!isPiped(followed, met) || followed.armedFor !== met.pid) await this.#arm(pane, followed, met);
    this.#lifecycle.pane = pane;
    while (!signal.aborted) {
      const facts = await this.#factsWithEnd(pane, signal);
      if (facts.dead) {
        const again = () => this.#respawn(pane, followed);
        await this.#handleEnd(exitOf(facts), signal, again, facts.pid);
      } else {
        await this.#noticeLife(facts);
        this.#deps.listener.sized(facts);
        if (!isPiped(followed, facts) || this.#isDiverted(followed, facts)) await this.#arm(pane, followed, facts);
        else if (followed.armedFor !== facts.pid) await this.#replaced(followed, facts);
      }
      await this.#woken.nextOrAfter(LOOK_EVERY_MS, clock, signal);
    }
  }

  /** tmux can be slow to report how a pane's program ended, or miss it until it checks again. */
  async #factsWithEnd(pane: TmuxPane, signal: AbortSignal): Promise<PaneFacts> {
    let facts = await pane.facts();
    for (let i = 0; i < STATUS_LOOKS && isEndUnknown(facts); i++) {
      if (i > 0) await this.#deps.clock.sleep(STATUS_LOOK_MS, signal);
      facts = await pane.recoverDeadStatus();
    }
    return facts;
  }

  /** True if tmux reports that the pane printed, but nothing arrived: another pipe has replaced ours. */
  #isDiverted(followed: FollowedPane, facts: PaneFacts): boolean {
    const { listener } = this.#deps;
    const { activityAt } = facts;
    const last = listener.lastOutputAt();
    const isKnown = facts.panes === 1 && activityAt !== undefined && last !== undefined;
    const isMissing = isKnown && activityAt - 1000 > last + DIVERTED_MS;
    followed.missing = isMissing ? followed.missing + 1 : 0;
    if (followed.missing < DIVERTED_LOOKS) return false;
    followed.missing = 0;
    listener.diverted();
    return true;
  }

  async #arm(pane: TmuxPane, followed: FollowedPane, facts: PaneFacts): Promise<void> {
    followed.armedFor = undefined;
    followed.isPiped = await this.#deps.listener.arm(pane);
    followed.armedFor = facts.pid;
  }

  /** Handles another program in the pane: tmux has cleared the pane's screen, and the pipe continues. */
  async #replaced(followed: FollowedPane, facts: PaneFacts): Promise<void> {
    await this.#deps.listener.renewed(followed.armedFor);
    followed.armedFor = facts.pid;
  }

  async #noticeLife(facts: PaneFacts): Promise<void> {
    if (facts.dead) return;
    const lifecycle = this.#lifecycle;
    const agentId = this.#deps.agentId() ?? lifecycle.life.agentId;
    const isKnown = lifecycle.isOf(facts.pid, agentId);
    if (isKnown && lifecycle.exit === undefined && lifecycle.pane !== undefined) return;
    if (!isKnown && lifecycle.alive) this.#vanished(); // its end was not observed
    const oomKills = isKnown ? undefined : await this.#deps.help.oomKills();
    const fresh = lifecycle.found(facts.pid, agentId, this.#deps.clock.now(), oomKills);
    this.#deps.help.agent(facts.pid);
    this.#deps.listener.alive({ pid: facts.pid, fresh });
  }

  /** Applies the restart policy to this end: `again` starts the agent once more. */
  async #handleEnd(seen: AgentExit, signal: AbortSignal, again: () => Promise<void>, pid?: number): Promise<void> {
    if (this.#lifecycle.isFinished) return;
    const { clock, help, listener, logger } = this.#deps;
    const oomKills = isOutOfMemoryPossible(seen) ? await help.oomKills() : undefined;
    const exit = this.#lifecycle.ended(seen, clock.now(), { pid, oomKills });
    const life = { exit, livedMs: clock.now() - this.#lifecycle.life.startedAt, quickEnds: this.#quickEnds };
    const { restart, stopAsked } = this.#options;
    const decision = decideRestart(stopAsked.aborted ? "never" : restart, life);
    if (decision.type === "finish") return this.#finish(exit);
    this.#quickEnds = decision.quickEnds;
    listener.dead({ exit, restartDue: true, crashLoop: decision.crashLoop });
    const { outOfMemory, ...how } = exit;
    const why = outOfMemory === true ? { out_of_memory: true } : {};
    const next = { delay_ms: decision.delayMs, quick_ends: decision.quickEnds };
    logger.warn({ ...how, ...why, ...next }, "agent ended, restarting it");
    await clock.sleep(decision.delayMs, AbortSignal.any([signal, stopAsked])).catch(() => {});
    signal.throwIfAborted();
    if (stopAsked.aborted) return this.#finish(exit);
    await again();
  }

  async #respawn(pane: TmuxPane, followed: FollowedPane): Promise<void> {
    await this.#deps.listener.renewed(followed.armedFor);
    await pane.respawn(this.#options.agent);
    const facts = await pane.facts();
    await this.#noticeLife(facts);
    // Our pipe continues. A pipe that another program made may take the first bytes, which tmux notices only with later
    // ones.
    if (isPiped(followed, facts)) followed.armedFor = facts.pid;
    else await this.#arm(pane, followed, facts);
  }

  #finish(exit: AgentExit): void {
    const { listener, logger } = this.#deps;
    this.#lifecycle.finished(exit);
    const exitCode = exitCodeOf(exit);
    listener.dead({ exit, restartDue: false, crashLoop: false });
    logger.info({ exit_code: exitCode }, "agent ended, no restart is due");
    listener.finished(exitCode);
  }
}

/** True if tmux has a pipe for the pane and the pipe is ours. */
function isPiped(followed: FollowedPane, facts: PaneFacts): boolean {
  return followed.isPiped && facts.piped;
}

function isEndUnknown(facts: PaneFacts): boolean {
  return facts.dead && facts.deadStatus === undefined && facts.deadSignal === undefined;
}

function exitOf(facts: PaneFacts): AgentExit {
  if (facts.deadSignal !== undefined && facts.deadSignal > 0) return { signal: facts.deadSignal };
  return { code: facts.deadStatus ?? 1 };
}

async function isGone(help: SessionHelp, pid: number): Promise<boolean> {
  const facts = await help.process(pid, { work: false });
  return facts !== undefined && facts.startTicks === undefined;
}

/** All panes of the server. */
async function listPanes(client: SessionClient): Promise<readonly { readonly id: string; readonly pid: number }[]> {
  const lines = await client.command('list-panes -a -F "#{pane_id} #{pane_pid}"');
  return lines.map((line) => {
    const [id = "", pid] = line.split(" ");
    return { id, pid: Number(pid) };
  });
}
