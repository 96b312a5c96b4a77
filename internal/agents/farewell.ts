import type { ProfileName } from "./profile.ts";

/** The first stops what it does or empties its composer, the second asks to leave, the third confirms. */
const CTRL_C_TWICE = ["C-c", "C-c", "C-c"];

const FAREWELLS: Readonly<Record<ProfileName, readonly string[]>> = {
  claude: CTRL_C_TWICE,
  codex: CTRL_C_TWICE,
  opencode: CTRL_C_TWICE,
  demo: CTRL_C_TWICE,
  generic: [],
};

/**
 * Keys (tmux names) by which a program is asked to leave, to be pressed one after the other until it does. Control keys only:
 * whatever is on its screen, a dialog or a person's draft, they answer nothing and submit nothing.
 */
export function farewellOf(name: ProfileName): readonly string[] {
  return FAREWELLS[name];
}
