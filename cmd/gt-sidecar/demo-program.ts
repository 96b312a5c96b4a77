import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The demo agent's file: beside this program's sources, or beside its bundle. */
const FILES = ["../demo-agent/main.ts", "./demo-agent.mjs"];

/** The demo agent that is shipped with this program, as program and arguments; undefined if it is missing. */
export function ownDemoAgent(): readonly [string, ...string[]] | undefined {
  const file = FILES.map((path) => fileURLToPath(new URL(path, import.meta.url))).find((path) => existsSync(path));
  return file === undefined ? undefined : [process.execPath, "--disable-warning=ExperimentalWarning", file];
}
