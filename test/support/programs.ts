import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The variable with the folder of the programs that were built before the tests. */
export const BUNDLES_VARIABLE = "GT_TEST_BUNDLES";

/** The file of one of our programs: under the tests' own run its bundle, as it is shipped; elsewhere its sources. */
export function programFile(
  name: "gt" | "gt-sidecar" | "bridge" | "bridge-ca" | "gt-controller" | "relay" | "threads" | "demo-agent" | "desk",
): string {
  const folder = process.env[BUNDLES_VARIABLE];
  return folder === undefined ? join(root, "cmd", name, "main.ts") : join(folder, `${name}.mjs`);
}

/** The command that runs the bundle of `desk`, beside it. */
export const DESK_COMMAND = "desk-command";

/** A file that runs `desk`: its bundle under the tests' own run, elsewhere the command of this clone. */
export function deskCommand(): string {
  const folder = process.env[BUNDLES_VARIABLE];
  return folder === undefined ? CLONE_DESK : join(folder, DESK_COMMAND);
}

/** The command of a clone. */
export const CLONE_DESK = join(root, "cmd", "desk", "desk");
