import { type DestinationStream, type Logger, pino } from "pino";

export type { Logger };

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/**
 * JSON lines on stderr. A constant message plus fields; never what was typed or printed in a terminal. Errors go under
 * `err`. Give `name` the binary's name.
 */
export function createLogger(name: string, level: LogLevel, destination?: DestinationStream): Logger {
  const options = { name, level, base: { name }, timestamp: pino.stdTimeFunctions.isoTime };
  return pino(options, destination ?? pino.destination({ dest: 2, sync: true }));
}
