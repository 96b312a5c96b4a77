import { processTree } from "../../process/process-tree.ts";
import type { PaneFacts } from "../../tmux/pane/pane-facts.ts";
import { chooseProgram, type ProgramChoice } from "./choose-program.ts";

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
