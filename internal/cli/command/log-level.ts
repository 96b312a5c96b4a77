import type { LogLevel } from "../../base/logger.ts";
import { knownWord } from "./arguments.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const satisfies readonly LogLevel[];

/** The level that `--log-level` names; undefined when nothing was given. @throws DomainError `invalid` */
export function logLevelOf(value: string | undefined): LogLevel | undefined {
  return value === undefined ? undefined : knownWord("--log-level", value, LOG_LEVELS);
}
