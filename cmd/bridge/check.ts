import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { reportConfig } from "../../internal/config/report-config.ts";
import { redactorWith } from "../../internal/daemon/daemon-tools.ts";
import { checkNamed } from "./check/check.ts";
import { checkProviders } from "./check/check-providers.ts";
import type { BridgeOptions } from "./config.ts";
import { openBridgeFile } from "./file/read-bridge-file.ts";
import { stdioProviders } from "./providers-of.ts";

/**
 * Checks a configuration, and prints warnings. Returns 0 if a bridge can start with it.
 * @throws ConfigError with every fault; as `openBridgeFile`
 */
export async function check(
  { configPath, place }: BridgeOptions,
  { out, err, clock, signal }: CommandContext,
): Promise<number> {
  const file = openBridgeFile(configPath);
  const { config, findings } = file;
  await checkNamed(file, clock.now());
  const deps = { clock, redactor: redactorWith(config.logging.redactPatterns), env: place.env };
  await checkProviders(stdioProviders(config, deps), findings, signal);
  reportConfig(findings, out, err);
  return 0;
}
