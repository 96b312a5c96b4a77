import { create } from "@bufbuild/protobuf";
import { within } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { errorText } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Actor, SessionTerminal } from "../../bridge/session-backend.ts";
import type { LaunchedTerminal, TerminalEnd } from "../../bridge/terminal-launcher.ts";
import { SidecarService, SidecarStopAgentRequestSchema } from "../../gen/gastown/v1/sidecar_pb.ts";
import { killMarked } from "../../process/marked-processes.ts";
import { MARKER } from "../ledger/session-marker.ts";
import type { SidecarEnd, SidecarProcess } from "./sidecar-process.ts";

export interface LaunchedSidecarDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly terminal: SessionTerminal;
  readonly process: SidecarProcess;
  /**
   * Starts another sidecar for an agent whose sidecar has ended; undefined if no agent is left. Rejects if it cannot be
   * started.
   */
  readonly startNext: (signal: AbortSignal) => Promise<SidecarProcess | undefined>;
  /** Called once when nothing of the session is left. */
  readonly onEnded: () => void;
}

const BRIDGE: Actor = { identity: "bridge", role: "operate" };
/** The time beyond the grace period for KILL of the agent and the sidecar's own end. */
const END_MS = 5000;
/** StopAgent answers at most this long after the grace period. */
const ANSWER_MS = 3000;
/** A sidecar that ends more often than this within RESTARTS_MS is not started again. */
const MAX_RESTARTS = 3;
const RESTARTS_MS = 60_000;

/**
 * A session's sidecar, which can be ended with everything that it has started. If it is killed while its agent lives,
 * another one replaces it, which continues with the agent and its events.
 */
export class LaunchedSidecar implements LaunchedTerminal {
  readonly agent: string;
  readonly ended: Promise<TerminalEnd>;
  readonly #deps: LaunchedSidecarDeps;
  readonly #marker: string;
  /** The restarts within RESTARTS_MS; monotonic, ms. */
  #restarts: readonly number[] = [];
  /** Aborted: no other sidecar is started. */
  readonly #giveUp = new AbortController();
  #process: SidecarProcess;
  #restarting: Promise<unknown> = Promise.resolve();
  #isStopping = false;

  constructor(deps: LaunchedSidecarDeps, { agent, marker }: { readonly agent: string; readonly marker: string }) {
    this.#deps = deps;
    this.#marker = marker;
    this.agent = agent;
    this.#process = deps.process;
    this.ended = this.#live();
  }

  get terminal(): SessionTerminal {
    return this.#deps.terminal;
  }

  get pid(): number {
    return this.#process.pid;
  }

  release(): void {
    this.#process.signal("SIGTERM");
  }

  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    await this.#restarted(graceMs);
    const { logger } = this.#deps;
    const process = this.#process;
    // The sidecar ends by itself once its streams have reported the agent's end. Otherwise it gets TERM, then KILL.
    if ((await this.#asked(graceMs)) && (await this.#endsWithin(END_MS))) return;
    process.signal("SIGTERM");
    if (await this.#endsWithin(Math.max(graceMs, 0) + END_MS)) return;
    logger.warn({ pid: process.pid }, "killing a sidecar that does not end");
    process.signal("SIGKILL");
    await this.ended;
  }

  async #live(): Promise<TerminalEnd> {
    for (;;) {
      const end = await this.#process.ended;
      const restarting = this.#next(end);
      this.#restarting = restarting;
      const next = await restarting;
      if (next === undefined) return this.#cleared(end);
      this.#process = next;
    }
  }

  /** Starts another process for an agent that has outlived its sidecar. */
  async #next(end: SidecarEnd): Promise<SidecarProcess | undefined> {
    const { clock, logger, startNext } = this.#deps;
    if (this.#isStopping) return undefined;
    const now = clock.monotonicMs();
    this.#restarts = [...this.#restarts.filter((at) => now - at < RESTARTS_MS), now];
    if (this.#restarts.length > MAX_RESTARTS) return undefined;
    try {
      const next = await startNext(this.#giveUp.signal);
      if (next !== undefined) logger.warn({ agent: this.agent, ...end, pid: next.pid }, "a sidecar was restarted");
      return next;
    } catch (err) {
      logger.warn({ agent: this.agent, err: errorText(err) }, "a sidecar cannot be restarted");
      return undefined;
    }
  }

  /** Waits, at most `graceMs`, for another sidecar that is being started: it can stop the agent. */
  async #restarted(graceMs: number): Promise<void> {
    const done = new AbortController();
    const late = this.#deps.clock.sleep(Math.max(graceMs, 0), done.signal).then(
      () => this.#giveUp.abort(),
      () => {},
    );
    await this.#restarting;
    done.abort();
    await late;
  }

  /** Asks the sidecar to stop the agent; true if it did. */
  async #asked(graceMs: number): Promise<boolean> {
    const done = new AbortController();
    const late = this.#deps.clock.sleep(Math.max(graceMs, 0) + ANSWER_MS, done.signal).then(
      () => done.abort(new Error("no answer in time")),
      () => {},
    );
    const request = create(SidecarStopAgentRequestSchema, {
      graceMs: BigInt(Math.max(graceMs, 0)),
      force: graceMs <= 0,
    });
    const { stopAgent } = SidecarService.method;
    const isAsked = await this.terminal.unary(stopAgent, request, BRIDGE, done.signal).then(
      () => true,
      () => false,
    );
    done.abort();
    await late;
    return isAsked;
  }

  async #endsWithin(ms: number): Promise<boolean> {
    const ended = this.ended.then(() => true);
    return (await within(this.#deps.clock, ms, ended)) ?? false;
  }

  #cleared(end: SidecarEnd): TerminalEnd {
    killMarked(MARKER, this.#marker);
    this.#deps.onEnded();
    return endOf(end, this.#isStopping);
  }
}

function endOf(end: SidecarEnd, wasStopped: boolean): TerminalEnd {
  const { code, signal } = end;
  if (code === undefined && signal === undefined) return wasStopped ? {} : { isUnknown: true };
  if (wasStopped || code === 0) return { exitCode: code };
  const error = signal === undefined ? `the agent ended with exit code ${code}` : `its sidecar was ended by ${signal}`;
  return { exitCode: code, error };
}
