import { Code, ConnectError } from "@connectrpc/connect";

/** How Connect's message begins when it cannot decode a binary request. */
const UNDECODABLE = "parse binary: ";

/**
 * Connect calls a binary message that it cannot decode an internal error. That fits an answer; of a request it is the
 * caller's mistake: `invalid_argument`. Other errors come back as they are.
 */
export function asRequestFault(err: ConnectError): ConnectError {
  if (err.code !== Code.Internal || !err.rawMessage.startsWith(UNDECODABLE)) return err;
  return new ConnectError(err.rawMessage, Code.InvalidArgument, undefined, undefined, err);
}
