import { AuditLog } from "../../internal/auth/audit-log.ts";
import type { Clock } from "../../internal/base/clock.ts";
import { LogDestination } from "../../internal/base/log-destination.ts";
import { createLogger, type Logger } from "../../internal/base/logger.ts";
import { DEFAULT_REDACT_PATTERNS, Redactor } from "../../internal/base/redact.ts";
import { textLines } from "../../internal/base/text-log.ts";
import { auditLines } from "../../internal/files/audit-lines.ts";
import type { BridgeConfig } from "./file/bridge-config.ts";

const STDERR = 2;

/** Takes secrets out of events, logs and errors: the built-in patterns, and those of the configuration. */
export function redactorOf({ logging }: BridgeConfig): Redactor {
  return new Redactor([...DEFAULT_REDACT_PATTERNS, ...logging.redactPatterns]).check();
}

/** The log of this process, on stderr. */
export function openLog({ logging }: BridgeConfig, redactor: Redactor): Logger {
  const redact = (text: string) => redactor.redact(text);
  if (logging.format === "json") return createLogger("bridge", logging.level, { redact });
  const stderr = LogDestination.open(
    STDERR,
    (lines) => `${lines} log lines were dropped: their reader had stopped reading\n`,
  );
  return createLogger("bridge", logging.level, { redact, destination: textLines(stderr) });
}

/** The audit log: a file that may be rotated away, or stderr. @throws as `AuditFile` */
export function openAudit({ auditPath }: BridgeConfig, clock: Clock, logger: Logger): AuditLog {
  return new AuditLog({ clock, write: auditLines(auditPath, { clock, logger }) });
}
