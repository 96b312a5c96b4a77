import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The variable with the folder of the programs that were built before the tests. */
export const BUNDLES_VARIABLE = "GT_TEST_BUNDLES";

/** The file of one of our programs: under the tests' own run its bundle, as it is shipped; elsewhere its sources. */
export function ownProgram(
  name: "gt" | "gt-sidecar" | "bridge" | "bridge-ca" | "gt-controller" | "relay" | "threads" | "demo-agent",
): string {
  const folder = process.env[BUNDLES_VARIABLE];
  return folder === undefined ? join(root, "cmd", name, "main.ts") : join(folder, `${name}.mjs`);
}
