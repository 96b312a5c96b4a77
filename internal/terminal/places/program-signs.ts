import { processTree } from "../../process/process-tree.ts";
import type { PaneFacts } from "../../tmux/pane/pane-facts.ts";
import { chooseProgram, type ProgramChoice } from "./choose-program.ts";

/**
 * Determines which agent program runs in a pane. `named`: the program that the session's starter named (GT_AGENT);
 * `asked`: `--agent-profile`.
 */
export function programIn(facts: PaneFacts, named: string | undefined, asked: string | undefined): ProgramChoice {
  return chooseProgram({
    ...{ asked, named },
    currentCommand: facts.currentCommand,
    processes: facts.dead ? [] : processTree(facts.pid),
  });
}

/** The reason why there is no agent in a pane, without loading the knowledge of agent programs. */
export function absentIn(facts: PaneFacts, named: string | undefined, asked: string | undefined): string | undefined {
  return programIn(facts, named, asked).absent;
}
