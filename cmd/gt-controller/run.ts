import { randomUUID } from "node:crypto";
import type { Clock } from "../../internal/base/clock.ts";
import { logWarnings, openDaemonTools } from "../../internal/daemon/daemon-tools.ts";
import type { ClusterOptions } from "./config.ts";
import { Controller } from "./controller.ts";
import { clusterCredentials } from "./open-cluster.ts";
import { openConfig } from "./open-config.ts";
import { ServerTlsFolder } from "./server-tls-folder.ts";

/** Serves a configuration until the signal is aborted, then returns 0. */
export async function run(
  command: ClusterOptions,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<number> {
  const { configFile, namespace, podName, logLevel, env } = command;
  const { config, findings } = openConfig(configFile);
  findings.assertUsable();
  const { auditPath, otlpEndpoint, logging } = config;
  const { level, redact_patterns: redactPatterns = [] } = logging;
  const program = { name: "gt-controller", level: logLevel ?? level, redactPatterns, auditPath, otlpEndpoint, env };
  await using tools = await openDaemonTools(clock, program);
  logWarnings(findings, tools.logger);
  const credentials = await clusterCredentials(command);
  await using folder = await ServerTlsFolder.make();
  const identity = `${podName}_${randomUUID().slice(0, 8)}`;
  const controller = new Controller({ ...tools, credentials, folder, env }, { config, namespace, identity });
  await controller.run(signal);
  tools.logger.info("ended");
  return 0;
}
