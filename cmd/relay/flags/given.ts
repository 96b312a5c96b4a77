import { DomainError } from "../../../internal/base/errors.ts";
import { isName } from "../../../internal/relay/nats/subjects.ts";

/** The name of a session, role or agent, if given. @throws DomainError `invalid`, naming the flag */
export function nameOf(flag: string, name: string | undefined): string | undefined {
  if (name === undefined || isName(name)) return name;
  throw invalid(`${flag} has up to 64 letters, digits, _ and -, not ${JSON.stringify(name)}`);
}

/** @throws DomainError `invalid`, naming the flag, if `name` is undefined */
export function needed(flag: string, name: string | undefined): string {
  if (name === undefined) throw invalid(`${flag} is missing`);
  return name;
}

/** The error for an invalid command line. */
export function invalid(message: string, hint = "relay --help shows the commands and flags"): DomainError {
  return new DomainError("invalid", message, { fields: { hint } });
}
