import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { logWarnings, openDaemonTools } from "../../internal/daemon/daemon-tools.ts";
import { checkNamed } from "./check/check.ts";
import type { BridgeOptions } from "./config.ts";
import { Daemon } from "./daemon.ts";
import { openBridgeFile } from "./file/read-bridge-file.ts";
import { stateFolderOf, takeStateFolder } from "./state-folder.ts";

/**
 * Serves a configuration until the signal is aborted, then returns 0.
 * @throws ConfigError with every fault of the configuration and of the files that it names
 */
export async function run(command: BridgeOptions, { clock, signal }: CommandContext): Promise<number> {
  const { configPath, stateDir, place } = command;
  const file = openBridgeFile(configPath);
  const { config, findings } = file;
  await checkNamed(file, clock.now());
  findings.assertUsable();
  const { logging, auditPath, otlpEndpoint } = config;
  const program = { name: "bridge", ...logging, auditPath, otlpEndpoint, env: place.env };
  await using tools = await openDaemonTools(clock, program);
  logWarnings(findings, tools.logger);
  const folder = stateFolderOf({ given: stateDir, configured: config.stateDir, configPath, ...place });
  await using _held = await takeStateFolder(clock, folder, signal);
  const daemon = new Daemon(tools, { config, folder, place });
  await daemon.run(signal);
  tools.logger.info("ended");
  return 0;
}
