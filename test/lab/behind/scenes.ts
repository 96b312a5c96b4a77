import type { AgentProgram } from "../../support/agents/agents-install.ts";

/** A task that is started behind a turn, and how it ends. */
export type Part =
  /** `endsAfterS`: the time after which the shell ends by itself; absent: `kill -9` ends it. */
  | { readonly type: "shell"; readonly endsAfterS?: number }
  /** `words`: the length of its work; absent: the agent stops it. */
  | { readonly type: "subagent"; readonly words?: number }
  /** A sub-agent that the turn waits for: nothing runs behind the turn. */
  | { readonly type: "awaited"; readonly words: number };

export interface Scene {
  readonly name: string;
  readonly parts: readonly Part[];
}

export interface BehindTarget {
  readonly name: AgentProgram;
  readonly args: readonly string[] | undefined;
  /** The program reports its background tasks. */
  readonly isTold: boolean;
  readonly scenes: readonly ((random: () => number) => Scene)[];
}

const upTo = (random: () => number, least: number, most: number) => least + Math.floor(random() * (most - least + 1));
const ends = (random: () => number): Part => ({ type: "shell", endsAfterS: upTo(random, 4, 12) });
const killed: Part = { type: "shell" };
const stopped: Part = { type: "subagent" };
const helper = (random: () => number): Part => ({ type: "subagent", words: upTo(random, 40, 120) });

const SHELLS: BehindTarget["scenes"] = [
  (random) => ({ name: "a shell that ends", parts: [ends(random)] }),
  () => ({ name: "a shell that is killed", parts: [killed] }),
  (random) => ({ name: "two shells, one killed", parts: [ends(random), killed] }),
];
const HELPERS: BehindTarget["scenes"] = [
  (random) => ({ name: "a sub-agent", parts: [helper(random)] }),
  (random) => ({ name: "a sub-agent and a shell that is killed", parts: [helper(random), killed] }),
  () => ({ name: "a sub-agent that is stopped", parts: [stopped] }),
];
const AWAITED: BehindTarget["scenes"] = [
  (random) => ({ name: "a sub-agent in the turn", parts: [{ type: "awaited", words: upTo(random, 40, 120) }] }),
];

const CLAUDE = ["--permission-mode", "default", "--allowedTools=Bash,Agent,Task"];

export const BEHIND_TARGETS: readonly BehindTarget[] = [
  { name: "claude-2.1.330", args: CLAUDE, isTold: true, scenes: [...SHELLS, ...HELPERS] },
  { name: "claude-2.1.197", args: CLAUDE, isTold: true, scenes: SHELLS },
  {
    name: "codex-0.169.0",
    args: ["-a", "never", "-s", "danger-full-access"],
    isTold: true,
    scenes: SHELLS,
  },
  { name: "opencode-1.18.33", args: undefined, isTold: false, scenes: AWAITED },
];
