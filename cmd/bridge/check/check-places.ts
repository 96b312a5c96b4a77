import { statSync } from "node:fs";
import type { Findings } from "../../../internal/config/findings.ts";
import { checkAuditFile } from "../../../internal/files/audit-file.ts";
import type { ListenAddress } from "../../../internal/rpc/port/listen.ts";
import type { BridgeConfig } from "../file/bridge-config.ts";

/** Checks the paths and ports that the configuration names, and the mode of its own file; creates nothing. */
export function checkPlaces(config: BridgeConfig, findings: Findings): void {
  const { allowedPaths, auditPath } = config;
  if ((statSync(findings.file).mode & 0o022) !== 0) {
    findings.warning([], "others may write this file, and so decide what the bridge does: chmod 600 it");
  }
  checkPorts(config, findings);
  allowedPaths.forEach((pattern, i) => {
    if (pattern.split("/").every((part) => part === "" || part === "*")) {
      const reason = "allows every folder of this machine, the bridge's own among them";
      findings.warning(["allowed_paths", i], reason);
    }
    // The folders that a `*` matches come and go; only the folder above them must exist.
    const fixed = pattern.split("/*", 1)[0] || "/";
    if (statSync(fixed, { throwIfNoEntry: false })?.isDirectory() === true) return;
    findings.warning(["allowed_paths", i], `there is no folder ${fixed}: sessions cannot be started there`);
  });
  if (auditPath !== undefined) findings.tried(["audit", "path"], () => checkAuditFile(auditPath));
}

/** Reports listeners on the same port: the second one would fail at the start. */
function checkPorts({ listen, healthListen, isHealthOptional, crlServer }: BridgeConfig, findings: Findings): void {
  const all = [
    { key: ["server", "listen"], at: listen },
    ...(isHealthOptional ? [] : [{ key: ["server", "health_listen"], at: healthListen }]),
    ...(crlServer === undefined ? [] : [{ key: ["crl", "listen"], at: crlServer.listen }]),
  ];
  for (const [i, { key, at }] of all.entries()) {
    const other = all.slice(0, i).find((one) => meet(one.at, at));
    if (other !== undefined) findings.fault(key, `port ${at.port} is used by ${other.key.join(".")} too`);
  }
}

function meet(one: ListenAddress, other: ListenAddress): boolean {
  const isAny = (host: string | undefined) => host === undefined || ["", "0.0.0.0", "::"].includes(host);
  const sameHost = one.host === other.host || isAny(one.host) || isAny(other.host);
  return one.port === other.port && one.port !== 0 && sameHost;
}
