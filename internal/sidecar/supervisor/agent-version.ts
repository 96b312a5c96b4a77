import { versionCommand, versionIn } from "../../agents/program-version.ts";
import { runCommand } from "../../process/run-command.ts";
import type { SidecarOptions } from "../halves/options.ts";

/** A program that was not in memory yet can take seconds to print its version. */
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 4096;

/**
 * Asks the agent program for its version, within 10 s. Undefined if it reports none, or if the command is not known to
 * answer `--version`.
 * @throws DomainError `cancelled` on abort
 */
export async function probeAgentVersion(sidecar: SidecarOptions, signal: AbortSignal): Promise<string | undefined> {
  const [program, ...args] = versionCommand(sidecar.agent, sidecar.command) ?? [];
  if (program === undefined) return undefined;
  const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES };
  const result = await runCommand(program, args, { cwd: sidecar.workdir, env: sidecar.env, ...limits }, signal);
  return result.type === "exit" && result.code === 0 ? versionIn(result.stdout) : undefined;
}
