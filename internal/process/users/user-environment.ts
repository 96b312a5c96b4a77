import type { UnixUser } from "./unix-user.ts";

const NAMES: ReadonlySet<string> = new Set(["PATH", "LANG", "LANGUAGE", "TZ", "TERM"]);

/**
 * The environment of a program that runs as another user: the search path, language, time zone and terminal type of
 * this process, and the home, name and shell of that user. Nothing that may hold a secret or name a path of this user
 * is passed on. Pure.
 */
export function userEnvironment(
  { name, home, shell }: UnixUser,
  own: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const kept = Object.entries(own).flatMap(([variable, value]) =>
    value !== undefined && (NAMES.has(variable) || variable.startsWith("LC_")) ? [[variable, value] as const] : [],
  );
  return { ...Object.fromEntries(kept), HOME: home, USER: name, LOGNAME: name, SHELL: shell };
}
