import type { Clock } from "../base/clock.ts";
import { LogDestination } from "../base/log-destination.ts";
import type { Logger } from "../base/logger.ts";
import { AuditFile } from "./audit-file.ts";

const STDERR = 2;
/** Without this pause a full disk would be reported at every call. */
const TELL_EVERY_MS = 60_000;

/**
 * Returns the writer of an audit log's lines: to a file that may be rotated away or, without `path`, to stderr. Lines
 * that cannot be written are lost: no call waits for them, and the log or a later line reports it.
 * @throws as `AuditFile`
 */
export function auditLines(
  path: string | undefined,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): (line: string) => void {
  if (path === undefined) {
    const dropped = (lines: number) => `${JSON.stringify({ audit: true, event: "dropped", lines })}\n`;
    const stderr = LogDestination.open(STDERR, dropped);
    return (line) => stderr.write(line);
  }
  let toldAt = Number.NEGATIVE_INFINITY;
  const file = new AuditFile(path, (err) => {
    if (clock.monotonicMs() - toldAt < TELL_EVERY_MS) return;
    toldAt = clock.monotonicMs();
    logger.error({ err, path }, "cannot write to the audit log: decisions are not recorded");
  });
  return (line) => file.write(line);
}
