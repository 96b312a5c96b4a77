import { basename, delimiter, dirname, join } from "node:path";

/** Set by npm for the scripts it runs; an agent and what it starts must not take them for their own. */
const OF_NPM = /^(?:npm_.*|INIT_CWD)$/;

/**
 * The environment as it was before npm ran us: without its variables, and without the folders it puts in front of PATH,
 * which are those of the clone at `root` and of the folders above it.
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
