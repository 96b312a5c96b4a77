import type { BridgeFile } from "../file/read-bridge-file.ts";
import { checkCredentials } from "./check-credentials.ts";
import { checkPlaces } from "./check-places.ts";
import { checkUsers } from "./check-users.ts";

/**
 * Checks everything that a configuration names and that a start needs.
 * @param now wall clock, ms
 */
export async function checkNamed(file: BridgeFile, now: number): Promise<void> {
  const { config, findings } = file;
  await checkCredentials(config, findings, now);
  checkUsers(file);
  checkPlaces(config, findings);
}
