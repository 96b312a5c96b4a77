import { readdirSync, readFileSync } from "node:fs";
import type { PaneFacts } from "../../../../internal/tmux/pane/pane-facts.ts";
import { chooseProgram, type ProgramChoice } from "./choose-program.ts";

const MAX_DEPTH = 4;
const MAX_PROCESSES = 64;

/**
 * Which agent program runs in a pane. `named`: what the session's starter said (GT_AGENT); `asked`: `--agent-profile`.
 */
export function programIn(facts: PaneFacts, named: string | undefined, asked: string | undefined): ProgramChoice {
  return chooseProgram({
    ...(asked !== undefined && { asked }),
    ...(named !== undefined && { named }),
    currentCommand: facts.currentCommand,
    processes: facts.dead ? [] : processTree(facts.pid),
  });
}

/** Why there is no agent in a pane, without what knows agent programs. */
export function absentIn(facts: PaneFacts, named: string | undefined, asked: string | undefined): string | undefined {
  return programIn(facts, named, asked).absent;
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
