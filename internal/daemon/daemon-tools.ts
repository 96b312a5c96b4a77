import { AuditLog } from "../auth/audit-log.ts";
import type { Clock } from "../base/clock.ts";
import { LogDestination } from "../base/log-destination.ts";
import { createLogger, type Logger, type LogLevel } from "../base/logger.ts";
import { DEFAULT_REDACT_PATTERNS, Redactor } from "../base/redact.ts";
import { textLines } from "../base/text-log.ts";
import type { Tracer } from "../base/tracing.ts";
import { version } from "../cli/version.ts";
import { faultText } from "../config/config-fault.ts";
import type { Findings } from "../config/findings.ts";
import { auditLines } from "../files/audit-lines.ts";
import { openTracer } from "../tracing/open-tracer.ts";

/** A daemon's clock, logs and tracer; disposing of them sends the remaining spans. */
export interface DaemonTools extends AsyncDisposable {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly redactor: Redactor;
  readonly audit: AuditLog;
  readonly tracer: Tracer;
}

export interface DaemonToolsOptions {
  /** The program's name, in each log line and span. */
  readonly name: string;
  readonly level: LogLevel;
  /** Default: json. */
  readonly format?: "json" | "text";
  /** In addition to the built-in patterns. */
  readonly redactPatterns: readonly string[];
  /** Undefined: stderr. */
  readonly auditPath: string | undefined;
  /** Base URL of a collector; undefined: the one in `env`; without either, no spans are created. */
  readonly otlpEndpoint: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const STDERR = 2;

/** The redactor of events, logs and errors: the built-in patterns, and these. @throws as `Redactor.check` */
export function redactorWith(patterns: readonly string[]): Redactor {
  return new Redactor([...DEFAULT_REDACT_PATTERNS, ...patterns]).check();
}

/** Log on stderr, audit log, tracer. @throws as `AuditFile`, `openTracer` */
export async function openDaemonTools(clock: Clock, options: DaemonToolsOptions): Promise<DaemonTools> {
  const { name, level, format = "json", redactPatterns, auditPath, otlpEndpoint: endpoint, env } = options;
  const redactor = redactorWith(redactPatterns);
  const logger = openLogger(redactor, { name, level, format });
  const audit = new AuditLog({ clock, write: auditLines(auditPath, { clock, logger }) });
  const tracer = await openTracer({ clock, logger }, { name, version }, { endpoint, env });
  return { clock, logger, redactor, audit, tracer, [Symbol.asyncDispose]: () => tracer[Symbol.asyncDispose]() };
}

/** A log on stderr without the secrets that `redactor` finds. `component`: see `LoggerOptions`. */
export function openLogger(
  redactor: Redactor,
  { name, level, format, component }: Pick<DaemonToolsOptions, "name" | "level" | "format"> & { component?: string },
): Logger {
  const redact = (text: string) => redactor.redact(text);
  const destination = format === "text" ? linesForPeople() : undefined;
  return createLogger(name, level, { redact, destination, component });
}

/** Logs the warnings about a configuration that is in use. */
export function logWarnings({ file, warnings }: Findings, logger: Logger): void {
  for (const warning of warnings) logger.warn({ at: faultText(file, warning) }, "the configuration has a warning");
}

function linesForPeople() {
  const dropped = (lines: number) => `${lines} log lines were dropped: their reader had stopped reading\n`;
  return textLines(LogDestination.open(STDERR, dropped));
}
