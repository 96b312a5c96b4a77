import { printable } from "../../internal/base/printable-text.ts";
import type { Output } from "../../internal/cli/output.ts";
import type { MainContext } from "../../internal/cli/run-main.ts";
import { findings } from "./check/check.ts";
import { checkProviders } from "./check/check-providers.ts";
import type { BridgeCommand } from "./config.ts";
import { ConfigError, type ConfigFault, faultText } from "./file/config-fault.ts";
import { openBridgeFile } from "./file/open-bridge-file.ts";
import { redactorOf } from "./open-log.ts";
import { stdioProviders } from "./providers-of.ts";

export type Printing = MainContext & { readonly out: Output; readonly err: Output };
export type CheckCommand = Extract<BridgeCommand, { readonly type: "run" | "check" }>;

/**
 * Prints all that is wrong with a configuration; 0: a bridge starts with it, 2: it does not. @throws as
 * `openBridgeFile`
 */
export async function check(
  { configPath, place }: CheckCommand,
  { out, err, clock, signal }: Printing,
): Promise<number> {
  const file = openBridgeFile(configPath);
  const { config } = file;
  const found = await findings(file, clock.now());
  const deps = { clock, redactor: redactorOf(config), env: place.env };
  await checkProviders(stdioProviders(config, deps), found, signal);
  const { faults, warnings } = found;
  for (const warning of warnings.toSorted(byLine)) err.line(printable`${faultText(configPath, warning, "warning")}`);
  if (faults.length > 0) throw new ConfigError(configPath, faults.toSorted(byLine));
  out.line(printable`${configPath}: ok`);
  return 0;
}

const byLine = (one: ConfigFault, other: ConfigFault) => one.line - other.line;
