import { answerByArrows, VERTICAL } from "../answer-by-arrows.ts";
import { defuseBy } from "../defuse.ts";
import { readHookLine } from "../hook-lines.ts";
import { plainLaunch, withFlags } from "../launch.ts";
import type { AgentProfile, LaunchContext, LaunchPlan } from "../profile.ts";
import { codexArgs } from "../thread-tools.ts";
import { codexView } from "./codex-screen.ts";
import { codexShownAnswer } from "./shown-answers.ts";

/** The name of the conversation's file, with the conversation's id. Codex keeps the file open. */
const ROLLOUT = /^rollout-[\dT-]{19}-([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\.jsonl$/;

const PROGRAM = /^codex(?:\.exe)?$/;

/**
 * Settings for this launch only. The inline screen keeps the transcript in the terminal's history. Without the daemon,
 * Codex works in the pane's own process, so nothing keeps running after that ends. The title shows whether Codex is
 * working. Codex ignores features and keys that it does not know.
 */
const FLAGS = [
  "-c",
  'tui.alternate_screen="never"',
  "-c",
  "features.daemon_auto_start=false",
  "-c",
  'tui.terminal_title=["activity","project-name"]',
];

/** `!` runs a shell command, `/` one of Codex's commands, `$` a skill; `@` and `#` open menus. */
const RULES = { command: /^\s*[!/#@&$]/, openEnd: /(?:\\|(?:^|\s)[@$]\S*)$/, cutsStart: true };

/**
 * Codex. Its composer (0.169.0) shows a bracketed paste of up to 1,000 characters verbatim, wrapped, and grows with it;
 * a draft taller than the screen is scrolled to its end and pushes the status rows out. Codex folds a longer paste,
 * even one of 64 KiB, to `[Pasted Content 1024 chars]`. White space at the start of a message is dropped. After Enter
 * the composer is empty at once, and the transcript echoes the whole text after a dim `›`. While an answer streams,
 * only the title's spinner shows that Codex is working, and Enter steers: the running answer is cut off and the message
 * goes to the model at once. While a tool runs, Enter holds the message back (`Messages to be submitted after next tool
 * call`, `↳` rows above the composer); Tab would queue it until the turn ends.
 */
export const codex: AgentProfile = {
  name: "codex",
  command: ["codex"],
  launch: planLaunch,
  view: codexView,
  idleProof: "screen",
  settleMs: 25,
  defuse: (message) => defuseBy(RULES, message),
  answer: (...asked) => answerByArrows(VERTICAL, ...asked),
  shownAnswer: codexShownAnswer,
  // The launch sets no hooks: Codex runs them only after a person has reviewed them, and `notify` would replace that
  // person's own.
  sessionOfFile: (name) => ROLLOUT.exec(name)?.[1],
  readHook: (line, payload) => readHookLine(line, payload),
  stateFile: () => undefined,
  readStateFile: () => undefined,
};

function planLaunch(context: LaunchContext): LaunchPlan {
  const flags = context.threads === undefined ? FLAGS : [...FLAGS, ...codexArgs(context.threads)];
  return { ...plainLaunch(context), argv: withFlags(context.command, PROGRAM, flags) };
}
