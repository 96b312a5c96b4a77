import { basename, join } from "node:path";
import { answerByArrows, VERTICAL } from "../answer-by-arrows.ts";
import { defuseBy, LEAVING } from "../defuse.ts";
import { readHookLine } from "../hook-lines.ts";
import { plainLaunch } from "../launch.ts";
import type { AgentProfile, LaunchContext, LaunchPlan } from "../profile.ts";
import { OPENCODE_CONFIG } from "../thread-tools.ts";
import { configWithPlugin, PLUGIN_FILE, pluginSource } from "./opencode-plugin.ts";
import { opencodeView } from "./opencode-screen.ts";

const PROGRAM = /^opencode(?:\.exe)?$/;

/** A first `!` runs a shell command and `/` a command of its own, `@` and `#` open helpers. */
const RULES = { command: /^\s*[!/#@&]/, leaving: LEAVING, openEnd: /(?:\\|(?:^|\s)@\S*)$/ };

/**
 * A question's list goes down, and Enter on its last choice opens a field; a permission's buttons are side by side.
 */
const LIST = { ...VERTICAL, asksText: /^Type your own answer/i, textField: "after-enter" } as const;
const BUTTONS = { next: "Right", previous: "Left" } as const;

/**
 * OpenCode. Its composer (1.18.33) shows a bracketed paste of up to 150 characters on one or two lines verbatim; a
 * longer one is folded to `[Pasted ~5 lines]` (one long line: `[Pasted ~1 lines]`), and a folded paste arrives with one
 * space at its end. The echo may take 0.7 s right after the start, otherwise 50–300 ms. After Enter the composer is
 * empty at once. While OpenCode is working it holds a message, shown at the end of the transcript with `QUEUED` below,
 * which may take half a second to appear. It uses the alternate screen and leaves no history.
 */
export const opencode: AgentProfile = {
  name: "opencode",
  command: ["opencode"],
  launch: planLaunch,
  view: opencodeView,
  idleProof: "screen",
  movesBelow: true,
  settleMs: 25,
  defuse: (message) => defuseBy(RULES, message),
  answer: (dialog, ...asked) => answerByArrows(dialog.kind === "question" ? LIST : BUTTONS, dialog, ...asked),
  readHook: (line, payload) => readHookLine(line, payload),
  stateFile: () => undefined,
  readStateFile: () => undefined,
};

/** The plugin is passed in the environment of this launch; `--pure` in the command disables it. */
function planLaunch(context: LaunchContext): LaunchPlan {
  const plain = plainLaunch(context);
  if (!context.command.some((word) => PROGRAM.test(basename(word)))) return plain;
  const plugin = join(context.stateDir, PLUGIN_FILE);
  const config = configWithPlugin(context.env?.[OPENCODE_CONFIG], plugin, context.threads);
  if (config === undefined) return plain;
  return {
    ...plain,
    env: { ...plain.env, [OPENCODE_CONFIG]: config },
    files: { [plugin]: pluginSource() },
  };
}
