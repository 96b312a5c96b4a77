import { existsSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import { processLives } from "../../process/process-lives.ts";
import { sendSignal } from "../../process/send-signal.ts";
import { SESSION, type SidecarOptions } from "../halves/options.ts";
import { statePaths } from "../halves/state-dir.ts";
import { codeOfEnd, stopAgent } from "./terminate-agent.ts";
import { callTmux, tmuxCalls } from "./tmux-call.ts";

export interface PredecessorDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface PredecessorOptions {
  readonly sidecar: SidecarOptions;
  /** True if the predecessor's tmux was started with the same configuration: the same agent, command and size. */
  readonly sameConfig: boolean;
  /** The grace time of an agent that is not taken over. */
  readonly graceMs: number;
}

const LOOK_EVERY_MS = 250;
const STOP_STEP_MS = 1000;

/**
 * A supervising half that was killed leaves its tmux server and the agent alive. Takes both over if this half would
 * start the same agent; otherwise ends first the agent, then the server. Undefined: there is nothing (left) to take
 * over.
 * @throws DomainError `unavailable` when the old server will not end
 */
export async function takeOver(
  deps: PredecessorDeps,
  { sidecar, sameConfig, graceMs }: PredecessorOptions,
): Promise<AdoptedServer | undefined> {
  const pid = await serverPid(deps.clock, sidecar);
  if (pid === undefined) return undefined;
  const adopted = new AdoptedServer(deps, sidecar, pid);
  if (sameConfig && (await callTmux(deps.clock, sidecar, "has-session", "-t", `=${SESSION}`)) !== undefined) {
    deps.logger.warn({ pid }, "took over the agent of a killed sidecar");
    return adopted;
  }
  deps.logger.warn({ pid }, "ending the agent of a killed sidecar: it was started with different options");
  const tools = { clock: deps.clock, call: tmuxCalls(deps.clock, sidecar), signal: sendSignal };
  const end = await stopAgent(tools, sidecar.agent, { graceMs, hurry: new AbortController().signal });
  await adopted.run(AbortSignal.abort());
  if (processLives(pid))
    throw new DomainError("unavailable", `the tmux server of an earlier sidecar does not end: ${pid}`);
  deps.logger.warn({ pid, exit_code: codeOfEnd(end) }, "ended the agent of a killed sidecar");
  return undefined;
}

/** A tmux server that is not a child of this process. */
class AdoptedServer implements Task {
  readonly #deps: PredecessorDeps;
  readonly #sidecar: SidecarOptions;
  readonly pid: number;

  constructor(deps: PredecessorDeps, sidecar: SidecarOptions, pid: number) {
    this.#deps = deps;
    this.#sidecar = sidecar;
    this.pid = pid;
  }

  /** Resolves when it has ended: by itself, or because `signal` was aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!signal.aborted && processLives(this.pid)) await clock.sleep(LOOK_EVERY_MS, signal).catch(() => {});
    const steps = [
      () => callTmux(clock, this.#sidecar, "kill-server"),
      () => sendSignal(this.pid, "SIGTERM"),
      () => sendSignal(this.pid, "SIGKILL"),
    ];
    for (const step of steps) {
      if (!processLives(this.pid)) return;
      await step();
      const end = clock.monotonicMs() + STOP_STEP_MS;
      while (processLives(this.pid) && clock.monotonicMs() < end) await clock.sleep(20);
    }
  }
}

async function serverPid(clock: Clock, sidecar: SidecarOptions): Promise<number | undefined> {
  if (!existsSync(statePaths(sidecar.stateDir).tmuxSocket)) return undefined; // the usual start: no program is run
  const answer = await callTmux(clock, sidecar, "display-message", "-p", "#{pid}");
  const pid = Number(answer?.trim());
  return Number.isInteger(pid) && pid > 1 ? pid : undefined;
}
