import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildBinary } from "../../../scripts/build.ts";
import { playLines } from "./play-lines.ts";

interface Streams {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  readonly signal: AbortSignal;
}

/**
 * Runs `soak --only lines`; returns the exit code. `json`: the file to which the acts, the faults and the reported
 * output are written.
 */
export async function soakOfLines(
  { acts = 10_000, seed = 1, json }: { readonly acts?: number; readonly seed?: number; readonly json?: string },
  { stdout, stderr, signal }: Streams,
): Promise<number> {
  const dir = await mkdtemp(join(tmpdir(), "gt-soak-"));
  try {
    const program = await buildBinary("gt-sidecar", dir);
    const say = (text: string) => void stderr.write(`${new Date().toISOString()} ${text}\n`);
    const { done, printed, faults, told, acts: log } = await playLines({ acts, seed, program, say }, signal);
    const what = Object.entries(done).map(([name, count]) => `${count} ${name}`);
    stdout.write(`${printed} lines printed, ${faults.length} faults; ${what.join(", ")}\n`);
    for (const fault of faults) stdout.write(`${fault}\n`);
    if (json !== undefined) await writeFile(json, `${JSON.stringify({ acts: log, faults, told })}\n`);
    return faults.length > 0 ? 1 : 0;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
