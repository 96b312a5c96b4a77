import { defuseBy, LEAVING } from "../defuse.ts";
import { readHookLine } from "../hook-lines.ts";
import { plainLaunch } from "../launch.ts";
import type { AgentProfile } from "../profile.ts";

/**
 * An unknown program with a prompt: it is never reported idle, its screen is not read, and Enter is pressed only after
 * a longer pause, because some programs take an Enter soon after a burst of text for a newline. A program may report
 * more by writing the lines of `hook-lines.ts` to `$GT_HOOK_FIFO`.
 */
export const generic: AgentProfile = {
  name: "generic",
  command: [],
  launch: (context) => plainLaunch(context),
  view: () => ({}),
  idleProof: "silence",
  settleMs: 150,
  // A first `!` or `/` and a last `\` change what most prompts do with a line; elsewhere they are plain text.
  defuse: (message) => defuseBy({ command: /^\s*[!/#@&]/, leaving: LEAVING, openEnd: /\\$/ }, message),
  readHook: (line, payload) => readHookLine(line, payload),
  stateFile: () => undefined,
  readStateFile: () => undefined,
};
