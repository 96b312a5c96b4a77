import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Where the programs lie that were made before the tests. */
export const PROGRAMS_VARIABLE = "GT_TEST_PROGRAMS";

/** The file of one of our programs: as it is shipped, in one file, under the tests' own run; elsewhere its sources. */
export function ownProgram(name: "gt" | "gt-sidecar" | "demo-agent"): string {
  const folder = process.env[PROGRAMS_VARIABLE];
  return folder === undefined ? join(root, "cmd", name, "main.ts") : join(folder, `${name}.mjs`);
}
