import { printable } from "../base/printable-text.ts";
import type { Output } from "../cli/output.ts";
import { ConfigError, faultText } from "./config-fault.ts";
import type { Findings } from "./findings.ts";

/**
 * Ends a command `check`: prints the warnings on `err`, by line, and `FILE: ok` on `out`.
 * @throws ConfigError with every fault
 */
export function reportConfig({ file, faults, warnings }: Findings, out: Output, err: Output): void {
  const inOrder = warnings.toSorted((one, other) => one.line - other.line);
  for (const warning of inOrder) err.line(printable`${faultText(file, warning, "warning")}`);
  if (faults.length > 0) throw new ConfigError(file, faults);
  out.line(printable`${file}: ok`);
}
