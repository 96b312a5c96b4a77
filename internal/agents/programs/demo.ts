import { answerByArrows, VERTICAL } from "../answer-by-arrows.ts";
import { defuseBy, LEAVING } from "../defuse.ts";
import { readHookLine } from "../hook-lines.ts";
import { plainLaunch } from "../launch.ts";
import type { AgentProfile } from "../profile.ts";
import { demoView } from "./demo-screen.ts";

/** Once a question's field is selected, typed text replaces its label. */
const LIST = { ...VERTICAL, asksText: /^Type something/, textField: "inline" } as const;

/**
 * The demo agent (`internal/demo`). It reads `GT_HOOK_FIFO` and `GT_HOOK_DIR` itself; its payload is the bare prompt.
 */
export const demo: AgentProfile = {
  name: "demo",
  command: ["gt-demo-agent"],
  launch: (context) => plainLaunch(context),
  view: demoView,
  idleProof: "screen",
  settleMs: 25,
  defuse: (message) => defuseBy({ command: /^\s*[!/#@&]/, leaving: LEAVING, openEnd: /\\$/ }, message),
  answer: (...asked) => answerByArrows(LIST, ...asked),
  readHook: (line, payload) => readHookLine(line, payload),
  stateFile: () => undefined,
  readStateFile: () => undefined,
};
