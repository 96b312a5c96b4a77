import { existsSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "../../../internal/base/errors.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Folders that ncurses searches in addition to those that the environment names; they differ between systems. */
const FOLDERS = [
  "/etc/terminfo",
  "/lib/terminfo",
  "/usr/share/terminfo",
  "/usr/lib/terminfo",
  "/usr/local/share/terminfo",
];
/** Types that nearly all of today's terminals understand, the most capable first. */
const COMMON = ["xterm-256color", "xterm", "screen-256color", "screen", "vt220", "vt100"];
/** The type of a terminal that cannot move its cursor. */
const DUMB = "dumb";

/**
 * The TERM with which tmux can draw on this terminal: the environment's TERM if this host's terminfo has it, otherwise
 * a common type that it has. Over ssh, the host's terminfo may lack a terminal that is new.
 * @throws DomainError `invalid` for a terminal that cannot be drawn on, or if no such type is found
 */
export function drawableTerm(env: Env, exists: (path: string) => boolean = existsSync): string {
  const term = env["TERM"] ?? "";
  if (term === DUMB) throw unfit('TERM is "dumb": tmux cannot draw on such a terminal');
  const folders = foldersOf(env);
  const isKnown = (name: string) => folders.some((folder) => entriesOf(folder, name).some(exists));
  if (term !== "" && !term.includes("/") && isKnown(term)) return term;
  const found = COMMON.find(isKnown);
  // If there is no terminfo to look into, leave the decision to tmux.
  if (found !== undefined) return found;
  if (term !== "" && !folders.some(exists)) return term;
  if (term === "") throw unfit("TERM is not set");
  throw unfit(`this host's terminfo has no terminal ${JSON.stringify(term)}`);
}

function foldersOf(env: Env): readonly string[] {
  const dirs = (env["TERMINFO_DIRS"] ?? "").split(":").filter((dir) => dir !== "");
  const home = env["HOME"] ? [join(env["HOME"], ".terminfo")] : [];
  return [...(env["TERMINFO"] ? [env["TERMINFO"]] : []), ...home, ...dirs, ...FOLDERS];
}

/**
 * The possible paths of an entry. Its folder is named by its first letter, or by that letter's code if the file system
 * ignores case.
 */
function entriesOf(folder: string, name: string): readonly string[] {
  const letter = name.slice(0, 1);
  const number = letter.charCodeAt(0).toString(16).padStart(2, "0");
  return [join(folder, letter, name), join(folder, number, name)];
}

function unfit(message: string): DomainError {
  return new DomainError("invalid", message, {
    fields: { hint: "TERM=xterm-256color gt attach …, or install the terminal's terminfo entry" },
  });
}
