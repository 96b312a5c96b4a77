import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A program that is shipped with this one, as program and arguments; undefined if it is missing. */
export function ownProgram(name: "gt" | "gt-sidecar" | "demo-agent"): readonly [string, ...string[]] | undefined {
  // Beside this program's bundle, or among the sources.
  const places = [`./${name}.mjs`, `../../cmd/${name}/main.ts`];
  const file = places.map((path) => fileURLToPath(new URL(path, import.meta.url))).find((path) => existsSync(path));
  return file === undefined ? undefined : [process.execPath, "--disable-warning=ExperimentalWarning", file];
}
