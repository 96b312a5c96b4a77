import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { Findings } from "../../../internal/config/findings.ts";
import type { BridgeConfig } from "../file/bridge-config.ts";

/** Looks at the folders that the configuration names; makes none of them. */
export function checkPlaces({ allowedPaths, auditPath }: BridgeConfig, findings: Findings): void {
  allowedPaths.forEach((pattern, i) => {
    // What a `*` stands for comes and goes; what is above it should be there.
    const fixed = pattern.split("/*", 1)[0] || "/";
    if (statSync(fixed, { throwIfNoEntry: false })?.isDirectory() === true) return;
    findings.warning(["allowed_paths", i], `there is no folder ${fixed}: sessions cannot be started there`);
  });
  if (auditPath !== undefined && !canWrite(auditPath)) {
    findings.fault(["audit", "path"], `cannot write to ${auditPath}`);
  }
}

function canWrite(path: string): boolean {
  try {
    accessSync(existsSync(path) ? path : dirname(path), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
