import { DomainError } from "../../../internal/base/errors.ts";
import { isName } from "../../../internal/relay/nats/subjects.ts";

/** The name of a session, role or agent, if given. @throws DomainError `invalid`, naming the flag */
export function nameOf(flag: string, name: string | undefined): string | undefined {
  if (name === undefined || isName(name)) return name;
  throw invalid(`${flag} takes up to 64 letters, digits, _ and -, not ${JSON.stringify(name)}`);
}

/** @throws DomainError `invalid`, naming the flag, if `name` is undefined */
export function needed(flag: string, name: string | undefined): string {
  if (name === undefined) throw invalid(`${flag} is missing`);
  return name;
}

/**
 * Reads `--server`, a ws, wss, http or https URL. Returns it as a ws or wss URL without a trailing slash.
 * @throws DomainError `invalid` if it is not such a URL, or does not match `--tls-dir`
 */
export function relayServer(value: string | undefined, tlsDir: string | undefined): string {
  const server = needed("--server", value).replace(/^http/, "ws").replace(/\/$/, "");
  if (!URL.canParse(server) || !/^wss?:$/.test(new URL(server).protocol)) {
    throw invalid(`--server is a URL such as ws://127.0.0.1:8080, not ${JSON.stringify(server)}`);
  }
  if ((tlsDir !== undefined) !== server.startsWith("wss:")) throw invalid("wss:// and --tls-dir go together");
  return server;
}

/** The error for an invalid command line. */
export function invalid(message: string, hint = "relay --help shows the commands and flags"): DomainError {
  return new DomainError("invalid", message, { fields: { hint } });
}
