import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Where the programs lie that were made before the tests. */
export const BUNDLES_VARIABLE = "GT_TEST_BUNDLES";

/** The file of one of our programs: as it is shipped, in one file, under the tests' own run; elsewhere its sources. */
export function ownProgram(
  name: "gt" | "gt-sidecar" | "bridge" | "bridge-ca" | "gt-controller" | "relay" | "threads" | "demo-agent",
): string {
  const folder = process.env[BUNDLES_VARIABLE];
  return folder === undefined ? join(root, "cmd", name, "main.ts") : join(folder, `${name}.mjs`);
}
