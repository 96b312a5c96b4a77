import type { Signals } from "../../internal/cli/run-main.ts";

export interface Place {
  /** It is the first process of its container (pid 1). */
  readonly isFirst: boolean;
  readonly hasTerminal: boolean;
  /** It serves for another process, which says when it ends. */
  readonly isStandby: boolean;
}

/**
 * What signals do. The kernel gives a first process only those that it asked for. From a terminal's keys, SIGINT and
 * SIGQUIT go to every process there: they are meant for what runs in the foreground, which a container's first process
 * is not, and neither is the serving half. SIGUSR1 would open Node's inspector to every process in the container.
 */
export function signalsFor({ isFirst, hasTerminal, isStandby }: Place): Signals {
  if (isStandby) return { stop: ["SIGTERM", "SIGHUP"], ignore: ["SIGINT", "SIGUSR1", "SIGUSR2"] };
  if (!isFirst) return { stop: ["SIGINT", "SIGTERM", "SIGHUP"], ignore: ["SIGUSR1"] };
  if (hasTerminal) return { stop: ["SIGTERM", "SIGHUP"], ignore: ["SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2"] };
  return { stop: ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"], ignore: ["SIGUSR1", "SIGUSR2"] };
}
