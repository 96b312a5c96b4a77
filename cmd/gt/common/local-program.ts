import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { AgentProfile, FileState } from "../../../internal/agents/profile.ts";
import { profileNamed } from "../../../internal/agents/programs/registry.ts";
import { normalise } from "../../../internal/agents/safe-text.ts";
import { processStartedAt, systemProcesses } from "../../../internal/process/process-alive.ts";
import type { LocalProgram } from "../../../internal/terminal/local-agent.ts";
import type { PaneFacts } from "../../../internal/tmux/pane/pane.ts";
import { chooseProgram } from "./choose-program.ts";

export interface ProgramOptions {
  /** `--agent-profile`. */
  readonly asked: string | undefined;
  readonly home: string;
}

const MAX_DEPTH = 4;
const MAX_PROCESSES = 64;
const MAX_STATE_BYTES = 64 * 1024;

/** Tells which agent program runs in a pane. `named`: what the session's starter said (GT_AGENT). @throws DomainError `invalid` for an unknown `asked`. */
export function localProgram(facts: PaneFacts, named: string | undefined, options: ProgramOptions): LocalProgram {
  const processes = facts.dead ? [] : processTree(facts.pid);
  const { asked } = options;
  const choice = chooseProgram({
    ...(asked !== undefined && { asked }),
    ...(named !== undefined && { named }),
    currentCommand: facts.currentCommand,
    processes,
  });
  const profile = profileNamed(choice.profile);
  const pid = choice.pid ?? facts.pid;
  const startedAt = processStartedAt(pid);
  return {
    provider: choice.profile,
    profile,
    pid,
    ...(choice.absent !== undefined && { absent: choice.absent }),
    ...(startedAt !== undefined && { startedAt }),
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

/** Command lines of a process and what it started, parents first. Empty where the system does not tell. */
function processTree(root: number): { readonly pid: number; readonly words: readonly string[] }[] {
  const found: { readonly pid: number; readonly words: readonly string[] }[] = [];
  let level = [root];
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    for (const pid of level) if (found.length < MAX_PROCESSES) found.push({ pid, words: commandLine(pid) });
    level = level.flatMap(children);
  }
  return found;
}

function commandLine(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, 4);
  } catch {
    return [];
  }
}

function children(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}
