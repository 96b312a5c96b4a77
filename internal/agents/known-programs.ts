/**
 * Facts about an agent program, without screen reading: cheap to import for code that only starts, finds or ends one.
 */
export interface KnownProgram {
  /** A word of a command line which shows that the program is running; absent for `generic`. */
  readonly word?: RegExp;
  /** Names or paths of files that are known to answer `--version` and end. */
  readonly versionFile?: RegExp;
  /**
   * Keys (tmux names) that ask the program to exit, pressed one after the other until it does. Control keys only:
   * whatever is on its screen, a dialog or a person's draft, they answer nothing and submit nothing.
   */
  readonly farewell: readonly string[];
}

/** The first stops the current work or empties the composer, the second asks to leave, the third confirms. */
const CTRL_C_TWICE = ["C-c", "C-c", "C-c"];

/** Each has a profile of this name in `programs/registry.ts`. */
const PROGRAMS = {
  claude: {
    word: /(?:^|\/)claude(?:\.exe|\.js)?$|\/claude-code\/[\w./-]+\.m?js$/,
    versionFile: /^claude(?:-\d[\d.]*)?(?:\.exe)?$/,
    farewell: CTRL_C_TWICE,
  },
  codex: {
    word: /(?:^|\/)codex(?:\.js)?$/,
    versionFile: /^codex(?:\.exe)?$/,
    farewell: CTRL_C_TWICE,
  },
  opencode: {
    word: /(?:^|\/)opencode(?:\.js)?$/,
    versionFile: /^opencode(?:\.exe)?$/,
    farewell: CTRL_C_TWICE,
  },
  demo: {
    word: /(?:^|\/)demo-agent(?:\.m?js|\/main\.ts)?$/,
    versionFile: /^(?:gt-demo-agent|demo-agent\.mjs)$|\/demo-agent\/main\.ts$/,
    farewell: CTRL_C_TWICE,
  },
  generic: { farewell: [] },
} satisfies Readonly<Record<string, KnownProgram>>;

export type ProfileName = keyof typeof PROGRAMS;

/** In display order. */
export const profileNames = Object.keys(PROGRAMS) as [ProfileName, ...ProfileName[]];

/** The names of real programs: without `generic`. */
export const programNames: readonly ProfileName[] = profileNames.filter((name) => name !== "generic");

/** For help: `a, b or c`. */
export const profileChoice = `${profileNames.slice(0, -1).join(", ")} or ${profileNames.at(-1)}`;

export function knownProgram(name: ProfileName): KnownProgram {
  return PROGRAMS[name];
}
