import { version } from "../../internal/cli/version.ts";
import { faultText } from "../../internal/config/config-fault.ts";
import { openTracer } from "../../internal/tracing/open-tracer.ts";
import { checkNamed } from "./check/check.ts";
import type { CheckCommand, Printing } from "./check.ts";
import { Daemon } from "./daemon.ts";
import { openBridgeFile } from "./file/read-bridge-file.ts";
import { openAudit, openLog, redactorOf } from "./open-log.ts";
import { stateFolderOf, takeStateFolder } from "./state-folder.ts";

/**
 * Serves what a configuration says until the signal; 0 then.
 * @throws ConfigError with everything that is wrong with the configuration and with what it names
 */
export async function run(command: CheckCommand, { clock, signal }: Printing): Promise<number> {
  const { configPath, stateDir, place } = command;
  const file = openBridgeFile(configPath);
  const { config, findings } = file;
  await checkNamed(file, clock.now());
  findings.assertUsable();
  const redactor = redactorOf(config);
  const logger = openLog(config, redactor);
  for (const warning of findings.warnings)
    logger.warn({ at: faultText(configPath, warning) }, "the configuration has a warning");
  const folder = stateFolderOf({ given: stateDir, configured: config.stateDir, configPath, ...place });
  await using _held = await takeStateFolder(clock, folder, signal);
  const audit = openAudit(config, clock, logger);
  const program = { name: "bridge", version };
  await using tracer = await openTracer({ clock, logger }, program, { endpoint: config.otlpEndpoint, env: place.env });
  const daemon = new Daemon({ clock, logger, audit, redactor, tracer }, { config, folder, place });
  await daemon.run(signal);
  logger.info("ended");
  return 0;
}
