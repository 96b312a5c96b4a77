import { join } from "node:path";
import { answerByArrows, HORIZONTAL, VERTICAL } from "../answer-by-arrows.ts";
import { defuseBy, LEAVING } from "../defuse.ts";
import { hookFile, plainLaunch, withFlags } from "../launch.ts";
import type { AgentProfile, LaunchContext, LaunchPlan } from "../profile.ts";
import { CLAUDE_TOOLS_RULE, claudeMcpConfig, type ThreadTools } from "../thread-tools.ts";
import { claudeSettings, readClaudeHook } from "./claude-hooks.ts";
import { claudeView } from "./claude-screen.ts";
import { claudeStateFile, readClaudeState } from "./claude-state-file.ts";
import { claudeShownAnswer } from "./shown-answers.ts";

const PROGRAM = /^claude(?:-\d[\d.]*)?(?:\.exe)?$/;

/**
 * Variables that Claude Code sets for the programs it starts; another Claude Code that inherits them becomes a child of
 * that session.
 */
export const CLAUDE_OWN_ENV: readonly string[] = [
  "CLAUDECODE",
  "CLAUDE_CODE_ENTRYPOINT",
  "CLAUDE_CODE_CHILD_SESSION",
  "CLAUDE_CODE_CHILD_NOTES_DIR",
  "CLAUDE_CODE_MESSAGING_TOKEN",
  "CLAUDE_CODE_SESSION_ATTENDED",
  "CLAUDE_CODE_SESSION_ID",
  "AI_AGENT",
];

/** `!` runs a shell command, `/` one of its own commands (also after blanks), `#` `@` `&` open helpers. */
const RULES = {
  command: /^\s*[!/#@&]/,
  leaving: LEAVING,
  openEnd: /(?:\\|(?:^|\s)@\S*)$/,
  // Claude Code drops this white space from messages that it holds while it is working (2.1.330).
  cutsStart: true,
  dropsInvisible: true,
};

/** A question's last choice is a field: once it is selected, typed text replaces its label. */
const LIST = { ...VERTICAL, asksText: /^Type something/i, textField: "inline" } as const;

/**
 * Claude Code. Its composer (2.1.197 and 2.1.330 alike, 160 columns) shows a bracketed paste of up to 800 characters on
 * up to three lines verbatim, wrapped; a longer one is folded to `[Pasted text #1]` (one long line) or `[Pasted text #1
 * +4 lines]` (five lines; 64 KiB too), the number counting up over the session, with `paste again to expand` below the
 * box. After Enter the composer is empty at once, and the transcript echoes the whole text. While Claude Code is
 * working, the composer takes text as before; Enter puts it into the agent's own queue, shown above the box (2.1.330:
 * at the first column above the spinner, `⎿ Queued` below it; 2.1.197: indented below the spinner), and the box shows
 * the dim hint `Press up to edit queued messages`. A draft hides the hint `esc to interrupt`, but not the spinner line.
 */
export const claude: AgentProfile = {
  name: "claude",
  command: ["claude"],
  launch: planLaunch,
  view: claudeView,
  idleProof: "screen",
  settleMs: 25,
  defuse: (message) => defuseBy(RULES, message),
  answer: (dialog, ...asked) => answerByArrows(dialog.beside ? HORIZONTAL : LIST, dialog, ...asked),
  shownAnswer: claudeShownAnswer,
  readHook: readClaudeHook,
  stateFile: claudeStateFile,
  readStateFile: readClaudeState,
};

/** Hooks are passed by `--settings`; a command with its own `--settings` keeps them and has no hooks. */
function planLaunch(context: LaunchContext): LaunchPlan {
  const plain = plainLaunch(context, CLAUDE_OWN_ENV);
  const hasOwn = context.command.some((word) => word === "--settings" || word.startsWith("--settings="));
  const tools = context.threads && serverFile(context.stateDir, context.threads);
  const settings = join(context.stateDir, "claude-settings.json");
  const flags = hasOwn ? (tools ? [`--allowedTools=${CLAUDE_TOOLS_RULE}`] : []) : ["--settings", settings];
  const argv = withFlags(context.command, PROGRAM, [...(tools?.flags ?? []), ...flags]);
  if (argv === context.command) return plain;
  if (hasOwn) return { ...plain, argv, files: { ...tools?.files } };
  const hook = hookFile(context);
  const written = claudeSettings(hook.path, tools === undefined ? [] : [CLAUDE_TOOLS_RULE]);
  return { ...plain, argv, files: { ...hook.files, ...tools?.files, [settings]: written } };
}

/** As one word: the flag takes all words that follow it. */
function serverFile(stateDir: string, threads: ThreadTools) {
  const file = join(stateDir, "claude-mcp.json");
  return { flags: [`--mcp-config=${file}`], files: { [file]: claudeMcpConfig(threads) } };
}
