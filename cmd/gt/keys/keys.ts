import type { Command } from "../../../internal/cli/command/command.ts";
import { PLACE_SECTION } from "../../../internal/terminal/places/place-flags.ts";
import { KEYS_FLAGS, type KeysFlags } from "./keys-flags.ts";

/** `gt keys`: presses keys in an agent's terminal. */
export const keys: Command<KeysFlags> = {
  name: "keys",
  flags: KEYS_FLAGS,
  help: {
    usage: "<agent> <key>...",
    summary: "press keys in its terminal",
    text: `Presses keys in an agent's terminal, whatever is on its screen. To send a message use gt nudge, to answer a dialog
gt respond: they look first and prove what happened; this does neither.

Keys have the names that tmux gives them: Enter, Escape, Tab, BTab, Space, BSpace, Up, Down, Left, Right, Home, End,
PageUp, PageDown, IC, DC, F1 to F12, one printable character, and C-, M- and S- before a key for Ctrl, Alt and Shift.
Ctrl-C and Escape wait for no message that is being typed; all other keys do.`,
    sections: [PLACE_SECTION],
    notes: "Exit codes: 0 pressed, 2 no such key, 6 refused (the agent is dead).",
    examples: [
      "gt keys gastown/toast Escape",
      "gt keys gastown/toast C-c C-c",
      "gt keys mayor Down Down Enter",
      'gt keys demo --text "y"',
    ],
  },
  completion: "agent",
  run: async (given, context) => (await import("./run-keys.ts")).runKeys(given, context),
};
