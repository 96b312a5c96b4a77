import { DomainError } from "../base/errors.ts";
import type { BeadDeps } from "./bead.ts";

/** Metadata of a bead with its agent's place; keys that are not given are removed. */
export type BeadMetadata = Readonly<Partial<Record<(typeof PLACE_KEYS)[number], string>>>;

const PLACE_KEYS = ["backend", "bridge_server", "sidecar_host", "sidecar_port", "sidecar_session"] as const;
const MAX_BYTES = 64 * 1024;

/**
 * Stores the place of a bead's agent with `bd update`; empty metadata removes it. The rest of the bead stays.
 * @throws DomainError `precondition` if `bd` fails
 */
export async function writeBead(
  id: string,
  metadata: BeadMetadata,
  deps: BeadDeps,
  signal: AbortSignal,
): Promise<void> {
  const flags = PLACE_KEYS.flatMap((key) => {
    const value = metadata[key];
    return value === undefined ? ["--unset-metadata", key] : ["--set-metadata", `${key}=${value}`];
  });
  const options = { cwd: deps.cwd, env: deps.env, timeoutMs: deps.timeoutMs, maxBytes: MAX_BYTES };
  const [program = "bd", ...args] = deps.command ?? [];
  const result = await deps.run(program, [...args, "update", id, ...flags], options, signal);
  if (result.type === "exit" && result.code === 0) return;
  throw new DomainError("precondition", `cannot write bead ${id}: ${reasonOf(result)}`);
}

function reasonOf(result: Awaited<ReturnType<BeadDeps["run"]>>): string {
  if (result.type === "missing") return "bd is not installed";
  if (result.type === "failed") return `bd update ${result.reason}`;
  const line = `${result.stderr}\n${result.stdout}`.split("\n").find((text) => text.trim() !== "") ?? "";
  return `bd update: exit ${result.code}${line === "" ? "" : `: ${line.trim().slice(0, 200)}`}`;
}
