import { readFile } from "node:fs/promises";
import type { AgentProfile, FileState } from "../../agents/profile.ts";
import { profileNamed } from "../../agents/programs/registry.ts";
import { normalise } from "../../agents/safe-text.ts";
import { processStartedAt, systemProcesses } from "../../process/process-alive.ts";
import type { PaneFacts } from "../../tmux/pane/pane.ts";
import type { LocalProgram } from "../local-agent.ts";
import { programIn } from "./program-signs.ts";

export interface LocalProgramOptions {
  /** `--agent-profile`. */
  readonly asked: string | undefined;
  readonly home: string;
}

const MAX_STATE_BYTES = 64 * 1024;

/**
 * Determines which agent program runs in a pane. `named`: the program that the session's starter named (GT_AGENT).
 * @throws DomainError `invalid` for an unknown `asked`.
 */
export function localProgram(facts: PaneFacts, named: string | undefined, options: LocalProgramOptions): LocalProgram {
  const choice = programIn(facts, named, options.asked);
  const profile = profileNamed(choice.profile);
  const pid = choice.pid ?? facts.pid;
  const startedAt = processStartedAt(pid);
  return {
    provider: choice.profile,
    profile,
    pid,
    ...{ absent: choice.absent, startedAt },
    clean: (message) => {
      const normal = normalise(message);
      return normal.type === "safe" ? profile.defuse(normal.text) : normal;
    },
    readState: () => readState(profile, pid, options.home),
  };
}

async function readState(profile: AgentProfile, pid: number, home: string): Promise<FileState | undefined> {
  const path = profile.stateFile(home, pid);
  if (path === undefined) return undefined;
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined || text.length > MAX_STATE_BYTES) return undefined;
  const startTicks = Number(systemProcesses.identity(pid));
  return profile.readStateFile(text, { pid, startTicks: startTicks > 0 ? startTicks : undefined });
}
