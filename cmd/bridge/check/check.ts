import type { BridgeFile } from "../file/read-bridge-file.ts";
import { checkCredentials } from "./check-credentials.ts";
import { checkPlaces } from "./check-places.ts";

/**
 * Looks at everything that a configuration names and that a start would fail with.
 * @param now wall clock, ms
 */
export async function checkNamed({ config, findings }: BridgeFile, now: number): Promise<void> {
  await checkCredentials(config, findings, now);
  checkPlaces(config, findings);
}
