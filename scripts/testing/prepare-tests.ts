import { mkdir, symlink } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { agentProgram } from "../../test/support/agents/agents-install.ts";
import { ensureTestPrograms } from "../programs/ensure-test-programs.ts";
import { ensureTmux } from "../programs/ensure-tmux.ts";
import { type Counts, none, plus } from "./counts.ts";

const log = (line: string): void => console.log(line);

/**
 * Prepares the real programs that tests need. In CI a missing program is a failure; elsewhere the tests that need it
 * report that it is missing.
 */
export async function prepareTests(scratch: string): Promise<Counts> {
  const parts: readonly [string, () => Promise<string>][] = [
    ["tmux", () => useTmux(join(scratch, "bin"))],
    ["programs for tests", () => ensureTestPrograms({ log })],
    ["agent programs for tests", () => agentProgram("claude-2.1.330")],
  ];
  let counts = none;
  for (const [name, part] of parts) {
    log(`${name} …`);
    try {
      log(`${name}: ${await part()}`);
    } catch (err) {
      log(`${name}: ${err instanceof Error ? err.message : String(err)}`);
      if (process.env["CI"] === "true") counts = plus(counts, { ...none, failed: 1 });
    }
  }
  return counts;
}

/** Puts a folder with only tmux first in PATH, so that no other program from tmux's real folder takes precedence. */
async function useTmux(folder: string): Promise<string> {
  const { path, version } = await ensureTmux({ log });
  await mkdir(folder);
  await symlink(path, join(folder, "tmux"));
  process.env["PATH"] = [folder, process.env["PATH"] ?? ""].join(delimiter);
  return `${version}, ${path}`;
}
