import { join } from "node:path";
import type { FileState } from "../profile.ts";

/** `~/.claude/sessions/<pid>.json`, written by Claude Code ≥ 2.1.139 on every change of its state. Undocumented. */
export function claudeStateFile(home: string, pid: number): string {
  return join(home, ".claude", "sessions", `${pid}.json`);
}

/**
 * Parses the state file. Undefined if it is another process's (the pid or its start time differ), half written, or has
 * unknown content. `shell` means that the turn has ended and a background shell is running; a person's `!` command is
 * `busy`.
 */
export function readClaudeState(
  text: string,
  proc: { readonly pid: number; readonly startTicks: number | undefined },
): FileState | undefined {
  const file = parse(text);
  if (file === undefined || file["pid"] !== proc.pid) return undefined;
  const started = file["procStart"];
  if (proc.startTicks !== undefined && started !== undefined && String(started) !== String(proc.startTicks))
    return undefined;
  switch (file["status"]) {
    case "idle":
      return { type: "idle", background: "none" };
    case "shell":
      return { type: "idle", background: "shell" };
    case "busy":
      return { type: "busy" };
    case "waiting":
      return {
        type: "waiting",
        reason: typeof file["waitingFor"] === "string" ? file["waitingFor"].slice(0, 200) : "unknown",
      };
    default:
      return undefined;
  }
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
