import { create } from "@bufbuild/protobuf";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import type { Caller, SessionTerminal } from "../bridge/session-backend.ts";
import type { LaunchedTerminal, TerminalEnd } from "../bridge/terminal-launcher.ts";
import { SidecarService, SidecarStopAgentRequestSchema } from "../gen/gastown/v1/sidecar_pb.ts";
import { killMarked } from "../process/marked-processes.ts";
import { MARKER } from "./session-marker.ts";
import type { SidecarEnd, SidecarProcess } from "./sidecar-process.ts";

export interface LaunchedSidecarDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly terminal: SessionTerminal;
  readonly process: SidecarProcess;
  /** Called once when nothing of the session is left. */
  readonly onEnded: () => void;
}

const BRIDGE: Caller = { identity: "bridge", role: "operate" };
/** Beyond the grace period: KILL of the agent, and the sidecar's own end. */
const END_MS = 5000;
/** StopAgent answers so long after the grace period at the latest. */
const ANSWER_MS = 3000;

/** A sidecar that runs, and how to end it with everything that it has started. */
export class LaunchedSidecar implements LaunchedTerminal {
  readonly agent: string;
  readonly ended: Promise<TerminalEnd>;
  readonly #deps: LaunchedSidecarDeps;
  readonly #marker: string;
  #isStopping = false;

  constructor(deps: LaunchedSidecarDeps, { agent, marker }: { readonly agent: string; readonly marker: string }) {
    this.#deps = deps;
    this.#marker = marker;
    this.agent = agent;
    this.ended = deps.process.ended.then((end) => this.#cleared(end));
  }

  get terminal(): SessionTerminal {
    return this.#deps.terminal;
  }

  get pid(): number {
    return this.#deps.process.pid;
  }

  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    const { logger, process } = this.#deps;
    // It ends by itself once its streams have told the agent's end. What does not end is told, and killed, by signals.
    if ((await this.#asked(graceMs)) && (await this.#endsWithin(END_MS))) return;
    process.signal("SIGTERM");
    if (await this.#endsWithin(Math.max(graceMs, 0) + END_MS)) return;
    logger.warn({ pid: process.pid }, "killing a sidecar that does not end");
    process.signal("SIGKILL");
    await this.ended;
  }

  /** True when the agent was stopped. */
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
    const done = new AbortController();
    const late = this.#deps.clock.sleep(ms, done.signal).then(
      () => false,
      () => true,
    );
    const inTime = await Promise.race([this.ended.then(() => true), late]);
    done.abort();
    await late;
    return inTime;
  }

  #cleared(end: SidecarEnd): TerminalEnd {
    killMarked(MARKER, this.#marker);
    this.#deps.onEnded();
    return endOf(end, this.#isStopping);
  }
}

function endOf({ code, signal }: SidecarEnd, wasStopped: boolean): TerminalEnd {
  const exit = code === undefined ? {} : { exitCode: code };
  if (wasStopped || code === 0 || (code === undefined && signal === undefined)) return exit;
  const error = signal === undefined ? `the agent ended with exit code ${code}` : `its sidecar was ended by ${signal}`;
  return { ...exit, error };
}
