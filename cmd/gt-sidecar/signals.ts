import type { Signals } from "../../internal/cli/run-main.ts";

export interface SidecarProcessRole {
  /** This process is the first one of its container (pid 1). */
  readonly isFirst: boolean;
  readonly hasTerminal: boolean;
  /** This process serves for another process, which tells it when to end. */
  readonly isStandby: boolean;
}

/**
 * How this process handles signals. The kernel delivers to a first process only the signals that it handles. A
 * terminal's keys send SIGINT and SIGQUIT to every process of the foreground group, but are not meant for a container's
 * first process, nor for the serving half. SIGUSR1 would open Node's inspector to every process in the container.
 */
export function signalsFor({ isFirst, hasTerminal, isStandby }: SidecarProcessRole): Signals {
  if (isStandby) return { stop: ["SIGTERM", "SIGHUP"], ignore: ["SIGINT", "SIGUSR1", "SIGUSR2"] };
  if (!isFirst) return { stop: ["SIGINT", "SIGTERM", "SIGHUP"], ignore: ["SIGUSR1"] };
  if (hasTerminal) return { stop: ["SIGTERM", "SIGHUP"], ignore: ["SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2"] };
  return { stop: ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"], ignore: ["SIGUSR1", "SIGUSR2"] };
}
