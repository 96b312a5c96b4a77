import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type PersonTerminal, personTerminal } from "./person-terminal.ts";
import { type RunningSidecar, until } from "./sidecar.ts";

/**
 * The state of a person's terminal, read from an emulator that got every byte. After an attachment it must be
 * `OWN_TERMINAL` again.
 */
export function terminalState({ terminal, raw }: PersonTerminal) {
  const { modes, buffer } = terminal;
  return {
    screen: buffer.active.type,
    mouse: modes.mouseTrackingMode,
    bracketedPaste: modes.bracketedPasteMode,
    applicationCursor: modes.applicationCursorKeysMode,
    applicationKeypad: modes.applicationKeypadMode,
    wraparound: modes.wraparoundMode,
    synchronized: modes.synchronizedOutputMode,
    cursorHidden: raw().lastIndexOf("\x1b[?25l") > raw().lastIndexOf("\x1b[?25h"),
  };
}

export const OWN_TERMINAL = {
  screen: "normal",
  mouse: "none",
  bracketedPaste: false,
  applicationCursor: false,
  applicationKeypad: false,
  wraparound: true,
  synchronized: false,
  cursorHidden: false,
} as const;

export interface AttachedSetup {
  readonly flags?: string;
  /** A command that runs its arguments as a command, as `setsid -w` does; put before `gt`. Default: none. */
  readonly by?: string;
  readonly cols?: number;
  readonly rows?: number;
  /** The text to wait for. Default: a word of gt's first line. */
  readonly sees?: string;
}

/** A person who runs `gt attach` from a shell, with text before and after it. */
export async function attached(sidecar: RunningSidecar, setup: AttachedSetup = {}): Promise<PersonTerminal> {
  const { flags = "", by, cols = 100, rows = 30, sees = "detaches" } = setup;
  const { host, port, dir, runtimeDir } = sidecar;
  const program = by === undefined ? "gt" : `${by} "$GT_NODE" "$GT_MAIN"`;
  const attach = `${program} attach test/polecats/demo --host ${host} --port ${port} ${flags}`;
  const person = personTerminal({
    command: `stty -g > stty-before; clear; echo what stood here; ${attach}; code=$?; stty -g > stty-after; echo "code $code"`,
    env: { PATH: process.env["PATH"] ?? "", HOME: dir, LANG: "C.UTF-8", XDG_RUNTIME_DIR: runtimeDir, USER: "ann" },
    cols,
    rows,
  });
  await person.sees(sees);
  return person;
}

/** Waits for gt's end; returns its exit code and whether the terminal is restored. */
export async function afterwards(person: PersonTerminal, dir: string) {
  await person.sees(/^code \d+/m);
  const code = Number(/^code (\d+)/m.exec(person.text())?.[1]);
  const [before, after] = await until("the terminal's settings", 30_000, async () => {
    const texts = ["stty-before", "stty-after"].map((name) => readFile(join(dir, name), "utf8").catch(() => ""));
    const both = await Promise.all(texts);
    return both[1] === "" ? undefined : both;
  });
  return {
    code,
    sameSettings: before === after && before !== "",
    state: terminalState(person),
    kept: person.text().includes("what stood here"),
  };
}

export const SANE = { sameSettings: true, state: OWN_TERMINAL, kept: true } as const;
