import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Where the demo agent lies: beside this program's sources, or beside the one file that was made of them. */
const FILES = ["../demo-agent/main.ts", "./demo-agent.mjs"];

/** The demo agent that came with this program, as program and arguments; undefined when none did. */
export function ownDemoAgent(): readonly [string, ...string[]] | undefined {
  const file = FILES.map((path) => fileURLToPath(new URL(path, import.meta.url))).find((path) => existsSync(path));
  return file === undefined ? undefined : [process.execPath, "--disable-warning=ExperimentalWarning", file];
}
