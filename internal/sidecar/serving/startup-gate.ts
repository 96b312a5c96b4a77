import type { Clock } from "../../base/clock.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import { SidecarService } from "../../gen/gastown/v1/sidecar_pb.ts";
import { TerminalService } from "../../gen/gastown/v1/terminal_pb.ts";
import type { CallContext } from "../../rpc/server/call-facts.ts";

const SERVICES: ReadonlySet<string> = new Set([SidecarService.typeName, TerminalService.typeName]);
/** Counted from the start of this process: tmux answers in milliseconds, unless it is still being made. */
const PATIENCE_MS = 2000;

/**
 * Holds calls about an agent back until this process has looked at it once, at most 2 s: a process that has just begun
 * would report a running agent as dead. While tmux is away, the answer is that no agent is running.
 */
export class StartupGate {
  readonly #clock: Clock;
  readonly #end: number;
  readonly #done = new SignalBus();
  #isDone = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#end = clock.monotonicMs() + PATIENCE_MS;
  }

  /** To be called when it is known whether the agent is running. */
  done(): void {
    this.#isDone = true;
    this.#done.notify();
  }

  /** Resolves when the call may begin; rejects when it ends before. */
  readonly gate = async ({ service, signal }: Pick<CallContext, "service" | "signal">): Promise<void> => {
    const leftMs = this.#end - this.#clock.monotonicMs();
    if (this.#isDone || leftMs <= 0 || !SERVICES.has(service.typeName)) return;
    await this.#done.nextOrAfter(leftMs, this.#clock, signal);
  };
}
