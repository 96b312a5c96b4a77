import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { AuditLog } from "../../internal/auth/audit-log.ts";
import type { Clock } from "../../internal/base/clock.ts";
import { LogDestination } from "../../internal/base/log-destination.ts";
import { createLogger, type Logger } from "../../internal/base/logger.ts";
import { DEFAULT_REDACT_PATTERNS, Redactor } from "../../internal/base/redact.ts";
import type { Command } from "./config.ts";
import { Controller } from "./controller.ts";
import { credentialsOf } from "./open-cluster.ts";
import { openConfig } from "./open-config.ts";
import { ServerTlsFolder } from "./server-tls-folder.ts";

type RunCommand = Extract<Command, { readonly type: "serve" | "check" }>;

const STDERR = 2;

/** Serves what a configuration says until the signal; 0 then. */
export async function run(
  command: RunCommand,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<number> {
  const { configFile, namespace, podName } = command;
  const config = openConfig(configFile);
  const { level, redact_patterns: patterns = [] } = config.logging;
  const redactor = new Redactor([...DEFAULT_REDACT_PATTERNS, ...patterns]).check();
  const logger = createLogger("gt-controller", level, { redact: (text) => redactor.redact(text) });
  const credentials = await credentialsOf(command);
  await using folder = await ServerTlsFolder.make();
  const audit = openAudit(config.auditPath, clock, logger);
  const identity = `${podName}_${randomUUID().slice(0, 8)}`;
  const controller = new Controller({ clock, logger, audit, credentials, folder }, { config, namespace, identity });
  await controller.run(signal);
  logger.info("ended");
  return 0;
}

function openAudit(path: string | undefined, clock: Clock, logger: Logger): AuditLog {
  if (path === undefined) {
    const dropped = (lines: number) => `${JSON.stringify({ audit: true, event: "dropped", lines })}\n`;
    const stderr = LogDestination.open(STDERR, dropped);
    return new AuditLog({ clock, write: (line) => stderr.write(line) });
  }
  const file = createWriteStream(path, { flags: "a", mode: 0o600 });
  file.on("error", (err) => logger.error({ err, path }, "cannot write to the audit log: decisions are not recorded"));
  return new AuditLog({ clock, write: (line) => void file.write(line) });
}
