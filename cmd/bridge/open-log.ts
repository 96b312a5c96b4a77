import { AuditLog } from "../../internal/auth/audit-log.ts";
import type { Clock } from "../../internal/base/clock.ts";
import { LogDestination } from "../../internal/base/log-destination.ts";
import { createLogger, type Logger } from "../../internal/base/logger.ts";
import type { Redactor } from "../../internal/base/redact.ts";
import { textLines } from "../../internal/base/text-log.ts";
import { AuditFile } from "./audit-file.ts";
import type { BridgeConfig } from "./file/bridge-config.ts";

const STDERR = 2;
/** A disk that is full would be told of with every call. */
const TELL_EVERY_MS = 60_000;

/** The log of this process, on stderr. */
export function openLog({ logging }: BridgeConfig, redactor: Redactor): Logger {
  const redact = (text: string) => redactor.redact(text);
  if (logging.format === "json") return createLogger("bridge", logging.level, { redact });
  const stderr = LogDestination.open(STDERR, (lines) => `${lines} log lines were dropped: their reader had stopped\n`);
  return createLogger("bridge", logging.level, { redact, destination: textLines(stderr) });
}

/** The audit log: a file that may be rotated away, or stderr. @throws as `AuditFile` */
export function openAudit({ auditPath }: BridgeConfig, clock: Clock, logger: Logger): AuditLog {
  if (auditPath === undefined) {
    const dropped = (lines: number) => `${JSON.stringify({ audit: true, event: "dropped", lines })}\n`;
    const stderr = LogDestination.open(STDERR, dropped);
    return new AuditLog({ clock, write: (line) => stderr.write(line) });
  }
  let toldAt = Number.NEGATIVE_INFINITY;
  const file = new AuditFile(auditPath, (err) => {
    if (clock.monotonicMs() - toldAt < TELL_EVERY_MS) return;
    toldAt = clock.monotonicMs();
    logger.error({ err, path: auditPath }, "cannot write to the audit log: decisions are not recorded");
  });
  return new AuditLog({ clock, write: (line) => file.write(line) });
}
