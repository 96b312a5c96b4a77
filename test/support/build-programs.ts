// Loaded by vitest before the tests that run our programs: bundles the programs once, as they are shipped. From its
// sources a sidecar needs twice the processor time to start, and the tests start hundreds.
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildBinaries } from "../../scripts/build.ts";
import { BUNDLES_VARIABLE, DESK_COMMAND } from "./programs.ts";

/** The pid of the run that has built the programs. */
const BUILT_BY = "GT_TEST_BUILT_BY";

const AGENT_PROGRAMS = ["gt-sidecar", "gt", "demo-agent"];
const DAEMONS = ["bridge", "bridge-ca", "gt-controller", "relay", "threads", "desk"];

export async function setup(): Promise<() => Promise<void>> {
  if (process.env[BUILT_BY] === String(process.pid)) return async () => {}; // built for another project of this run
  // Inside node_modules, so that modules that cannot be bundled are found.
  const cache = fileURLToPath(new URL("../../node_modules/.cache/", import.meta.url));
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "gt-test-"));
  await chmod(folder, 0o755); // other users run them too
  await buildBinaries([...AGENT_PROGRAMS, ...DAEMONS], folder);
  const command = `#!/bin/sh\nexec "${process.execPath}" "${join(folder, "desk.mjs")}" "$@"\n`;
  await writeFile(join(folder, DESK_COMMAND), command, { mode: 0o755 });
  process.env[BUNDLES_VARIABLE] = folder;
  process.env[BUILT_BY] = String(process.pid);
  return () => rm(folder, { recursive: true, force: true });
}
