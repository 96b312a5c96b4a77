import type { UnixUser } from "./unix-user.ts";

const NAMES: ReadonlySet<string> = new Set(["PATH", "LANG", "LANGUAGE", "TZ", "TERM"]);

/**
 * The environment of another user's program: the search path and language as here, and otherwise that user's own.
 * Nothing that may hold a secret or name a path of this user is passed on. Pure.
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
