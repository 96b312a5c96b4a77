import { basename, delimiter, dirname, join } from "node:path";

/** Set by npm for the scripts that it runs; the agent and its children must not inherit them. */
const OF_NPM = /^(?:npm_.*|INIT_CWD)$/;

/**
 * The environment before npm ran us: without npm's variables, and without the folders that it puts first in PATH, which
 * belong to the clone at `root` and to the folders above it.
 */
export function plainEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  root: string,
): Record<string, string | undefined> {
  const kept = Object.entries(env).filter(([name]) => !OF_NPM.test(name));
  const path = (env["PATH"] ?? "")
    .split(delimiter)
    .filter((dir) => !isOfNpm(dir, root) && basename(dir) !== "node-gyp-bin");
  return { ...Object.fromEntries(kept), PATH: path.join(delimiter) };
}

function isOfNpm(dir: string, folder: string): boolean {
  const above = dirname(folder);
  return dir === join(folder, "node_modules/.bin") || (above !== folder && isOfNpm(dir, above));
}
