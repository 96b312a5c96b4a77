import type { Environment } from "../../base/environment.ts";

/** Variables by which a program finds its files, its network and the user's tools. */
const NAMES = new Set([
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM"],
  ...["SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GNUPGHOME", "NIX_PATH"],
  ...["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"],
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"],
]);
const PREFIXES = ["LC_", "XDG_", "GIT_AUTHOR_", "GIT_COMMITTER_"];

/** The variables that one program reads in addition to those of every program. */
export interface WantedVariables {
  readonly names?: readonly string[];
  readonly prefixes?: readonly string[];
  /** Left out even if one of the lists has it. */
  readonly unset?: readonly string[] | undefined;
}

/**
 * Selects the variables of this process's environment that a child process gets: those on the list, and the wanted
 * ones. Everything else is left out, such as the daemon's own secrets and the variables of a surrounding terminal.
 * Pure.
 */
export function passedEnvironment(own: Environment, wanted: WantedVariables): Record<string, string> {
  const { names = [], prefixes = [], unset = [] } = wanted;
  const isKnown = (name: string) => NAMES.has(name) || PREFIXES.some((prefix) => name.startsWith(prefix));
  const isWanted = (name: string) => names.includes(name) || prefixes.some((prefix) => name.startsWith(prefix));
  return Object.fromEntries(
    Object.entries(own).flatMap(([name, value]) =>
      value !== undefined && !unset.includes(name) && (isKnown(name) || isWanted(name)) ? [[name, value] as const] : [],
    ),
  );
}
