import { defuseBy, LEAVING } from "./defuse.ts";
import { readHookLine } from "./hook-lines.ts";
import { plainLaunch } from "./launch.ts";
import { opencodeView } from "./opencode-screen.ts";
import type { AgentProfile } from "./profile.ts";

/** A first `!` runs a shell command and `/` a command of its own, `@` and `#` open helpers. */
const RULES = { command: /^\s*[!/#@&]/, leaving: LEAVING, openEnd: /(?:\\|(?:^|\s)@\S*)$/ };

export const opencode: AgentProfile = {
  name: "opencode",
  command: ["opencode"],
  launch: (context) => plainLaunch(context),
  view: opencodeView,
  idleProof: "screen",
  submit: { key: "Enter", settleMs: 25 },
  queuesWhileBusy: true,
  defuse: (message) => defuseBy(RULES, message),
  readHook: (line, payload) => readHookLine(line, payload),
  stateFile: () => undefined,
  readStateFile: () => undefined,
};
