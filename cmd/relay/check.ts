import type { Output } from "../../internal/cli/output.ts";
import { reportConfig } from "../../internal/config/report-config.ts";
import type { ServeCommand } from "./config.ts";
import { openSettings } from "./settings.ts";

/** Says that flags, environment and file have no fault. @throws ConfigError with every fault */
export function check(command: ServeCommand, { out, err }: { readonly out: Output; readonly err: Output }): number {
  reportConfig(openSettings(command).findings, out, err);
  return 0;
}
