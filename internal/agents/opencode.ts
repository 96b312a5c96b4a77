import { defuseBy, LEAVING } from "./defuse.ts";
import { readHookLine } from "./hook-lines.ts";
import { plainLaunch } from "./launch.ts";
import { opencodeView } from "./opencode-screen.ts";
import type { AgentProfile } from "./profile.ts";

/** A first `!` runs a shell command and `/` a command of its own, `@` and `#` open helpers. */
const RULES = { command: /^\s*[!/#@&]/, leaving: LEAVING, openEnd: /(?:\\|(?:^|\s)@\S*)$/ };

/**
 * OpenCode. What a bracketed paste shows in its composer (1.18.33): up to 150 characters on one
 * or two lines stand there verbatim; more is folded to `[Pasted ~5 lines]` (one long line: `[Pasted ~1 lines]`), and a folded paste
 * arrives with one space at its end. The echo may take 0.7 s right after the start, else 50–300 ms. Submitted, the composer
 * is empty at once; while it works a message is held by it, shown at the end of the transcript with `QUEUED` below, which
 * may take half a second to appear. It uses the alternate screen and leaves no history.
 */
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
