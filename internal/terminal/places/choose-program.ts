import { knownProgram, type ProfileName, profileNames } from "../../agents/known-programs.ts";
import { isShell } from "../shells.ts";

/** Signs of the program in a pane. */
export interface ProgramSigns {
  /** `--agent-profile`: overrides the detection. */
  readonly asked?: string | undefined;
  /** GT_AGENT of the session. */
  readonly named?: string | undefined;
  /** The pane's foreground program as tmux reports it. */
  readonly currentCommand: string;
  /** The pane's processes, parents first, with the first words of their command lines. */
  readonly processes: readonly { readonly pid: number; readonly words: readonly string[] }[];
}

export interface ProgramChoice {
  /** The name of a known profile, or `asked`, which was not checked. */
  readonly profile: string;
  /** The agent's own process, where it is known. */
  readonly pid?: number | undefined;
  /** The reason why there is no agent in the pane. */
  readonly absent?: string | undefined;
}

/** Claude Code calls its process by its version. */
const CLAUDE_VERSION = /^\d+\.\d+\.\d+$/;

/**
 * Determines the agent in a pane. A shell in the foreground means that there is none: a message must not become a
 * command. An unknown program is `generic`, which never claims to be idle.
 */
export function chooseProgram(signs: ProgramSigns): ProgramChoice {
  const seen = seenProgram(signs);
  if (signs.asked !== undefined) return { profile: signs.asked, pid: seen?.pid };
  if (isShell(signs.currentCommand) && seen === undefined && !runsCommand(signs)) {
    return {
      profile: knownName(signs.named) ?? "generic",
      absent: `${signs.currentCommand} is running in the pane, and it is not an agent`,
    };
  }
  const profile =
    seen?.profile ?? knownName(signs.named) ?? (CLAUDE_VERSION.test(signs.currentCommand) ? "claude" : "generic");
  return { profile, pid: seen?.pid };
}

/**
 * True if the pane's shell runs one command (`sh -c`), as tmux starts a person's command, and stays in the foreground,
 * as some shells do: it reads no commands from the terminal, unless a shell below it does.
 */
function runsCommand({ processes: [root, ...below] }: ProgramSigns): boolean {
  const isOfCommand = (words: readonly string[]) => words[1] === "-c" && words[2] !== undefined;
  const readsCommands = ({ words }: ProgramSigns["processes"][number]) =>
    isShell(words[0] ?? "") && !isOfCommand(words);
  if (root === undefined || !isShell(root.words[0] ?? "") || !isOfCommand(root.words)) return false;
  return below.some(({ words }) => !isShell(words[0] ?? "")) && !below.some(readsCommands);
}

function seenProgram({ processes }: ProgramSigns): { readonly profile: ProfileName; readonly pid: number } | undefined {
  for (const { pid, words } of processes) {
    const profile = words.map(programOf).find((name) => name !== undefined);
    if (profile !== undefined) return { profile, pid };
  }
  return undefined;
}

function programOf(word: string): ProfileName | undefined {
  return profileNames.find((name) => knownProgram(name).word?.test(word));
}

function knownName(named: string | undefined): ProfileName | undefined {
  return named === undefined ? undefined : programOf(named);
}
