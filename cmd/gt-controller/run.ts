import { randomUUID } from "node:crypto";
import { AuditLog } from "../../internal/auth/audit-log.ts";
import type { Clock } from "../../internal/base/clock.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { DEFAULT_REDACT_PATTERNS, Redactor } from "../../internal/base/redact.ts";
import { version } from "../../internal/cli/version.ts";
import { faultText } from "../../internal/config/config-fault.ts";
import { auditLines } from "../../internal/files/audit-lines.ts";
import { openTracer } from "../../internal/tracing/open-tracer.ts";
import type { Command } from "./config.ts";
import { Controller } from "./controller.ts";
import { credentialsOf } from "./open-cluster.ts";
import { openConfig } from "./open-config.ts";
import { ServerTlsFolder } from "./server-tls-folder.ts";

type RunCommand = Extract<Command, { readonly type: "serve" | "check" }>;

/** Serves what a configuration says until the signal; 0 then. */
export async function run(
  command: RunCommand,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<number> {
  const { configFile, namespace, podName, logLevel } = command;
  const { config, findings } = openConfig(configFile);
  findings.assertUsable();
  const { level, redact_patterns: patterns = [] } = config.logging;
  const redactor = new Redactor([...DEFAULT_REDACT_PATTERNS, ...patterns]).check();
  const logger = createLogger("gt-controller", logLevel ?? level, { redact: (text) => redactor.redact(text) });
  for (const warning of findings.warnings)
    logger.warn({ at: faultText(configFile, warning) }, "the configuration has a warning");
  const credentials = await credentialsOf(command);
  await using folder = await ServerTlsFolder.make();
  const audit = new AuditLog({ clock, write: auditLines(config.auditPath, { clock, logger }) });
  const identity = `${podName}_${randomUUID().slice(0, 8)}`;
  const program = { name: "gt-controller", version };
  const { otlpEndpoint: endpoint } = config;
  await using tracer = await openTracer({ clock, logger }, program, { endpoint, env: command.env });
  const controller = new Controller(
    { clock, logger, audit, credentials, folder, tracer, env: command.env },
    { config, namespace, identity },
  );
  await controller.run(signal);
  logger.info("ended");
  return 0;
}
