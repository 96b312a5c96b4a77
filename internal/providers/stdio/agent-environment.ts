import type { Environment } from "../../base/environment.ts";
import type { UnixUser } from "../../process/users/unix-user.ts";
import { userEnvironment } from "../../process/users/user-environment.ts";
import type { Dialect } from "../conversation/conversation.ts";

/** What a program needs to find its files, speak to its network and to the person's tools. */
const NAMES = new Set([
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM"],
  ...["SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GNUPGHOME", "NIX_PATH"],
  ...["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"],
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"],
]);
const PREFIXES = ["LC_", "XDG_", "GIT_AUTHOR_", "GIT_COMMITTER_"];

/**
 * The environment of an agent: what is on the list, and what its program asks for. Everything else stays behind, the
 * daemon's own secrets and a surrounding terminal's variables with it. An agent that runs as another user gets that
 * user's own. Pure.
 */
export function agentEnvironment(dialect: Dialect, own: Environment, user?: UnixUser): Record<string, string> {
  if (user !== undefined) return { ...userEnvironment(user, own), ...dialect.set };
  const { names = [], prefixes = [] } = dialect.environment;
  const unset = new Set(dialect.unset);
  const passes = (name: string) =>
    (NAMES.has(name) || names.includes(name) || [...PREFIXES, ...prefixes].some((prefix) => name.startsWith(prefix))) &&
    !unset.has(name);
  const kept = Object.entries(own).flatMap(([name, value]) =>
    value !== undefined && passes(name) ? [[name, value] as const] : [],
  );
  return { ...Object.fromEntries(kept), ...dialect.set };
}
