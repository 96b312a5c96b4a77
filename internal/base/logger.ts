import { type DestinationStream, type Logger, pino } from "pino";
import { LogDestination } from "./log-destination.ts";
import { inertJson } from "./quoted-text.ts";

export type { Logger };

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

export interface LoggerOptions {
  /** Default: stderr. */
  readonly destination?: DestinationStream | undefined;
  /** Removes secrets from every text in a field, errors included. */
  readonly redact?: (text: string) => string;
  /**
   * If set, lines have `timestamp`, the level as a word and this `component` in place of `time`, a number and `name`.
   */
  readonly component?: string | undefined;
}

/**
 * Logs JSON lines that are safe to print on a terminal. A line is a constant message plus fields, without any text that
 * was typed or printed in a terminal. Errors go under `err`. `name` is the binary's name.
 */
export function createLogger(
  name: string,
  level: LogLevel,
  { destination = LogDestination.open(2, (lines) => droppedLine(name, lines)), redact, component }: LoggerOptions = {},
): Logger {
  const options =
    component === undefined
      ? { name, level, base: { name }, timestamp: pino.stdTimeFunctions.isoTime }
      : { level, base: { component }, timestamp: () => `,"timestamp":"${new Date().toISOString()}"` };
  const levels = component === undefined ? {} : { level: (label: string) => ({ level: label }) };
  const inert = { write: (line: string) => destination.write(inertJson(line)) };
  if (redact === undefined) return pino({ ...options, formatters: levels }, inert);
  const fields = (object: Record<string, unknown>) => redacted(object, redact, 0) as Record<string, unknown>;
  const err = (value: Error) => redacted(pino.stdSerializers.err(value), redact, 0);
  return pino({ ...options, formatters: { ...levels, log: fields }, serializers: { err } }, inert);
}

const WARN = 40;

function droppedLine(name: string, lines: number): string {
  const msg = "log lines were dropped: their reader had stopped reading";
  return `${JSON.stringify({ level: WARN, time: new Date().toISOString(), name, lines, msg })}\n`;
}

/** Values nested deeper than this are not redacted. */
const MAX_DEPTH = 5;

function redacted(value: unknown, redact: (text: string) => string, depth: number): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null || value instanceof Error || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => redacted(item, redact, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redacted(item, redact, depth + 1)]));
}
