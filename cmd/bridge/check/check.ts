import type { BridgeFile } from "../file/read-bridge-file.ts";
import { checkCredentials } from "./check-credentials.ts";
import { checkPlaces } from "./check-places.ts";
import { Findings } from "./findings.ts";

/**
 * Looks at everything that a configuration names and that a start would fail with.
 * @param now wall clock, ms
 */
export async function findings({ config, warnings, faultAt }: BridgeFile, now: number): Promise<Findings> {
  const found = new Findings(faultAt);
  found.warnings.push(...warnings);
  await checkCredentials(config, found, now);
  checkPlaces(config, found);
  return found;
}
