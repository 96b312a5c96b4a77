import { Code, ConnectError } from "@connectrpc/connect";

/** The beginning of Connect's message if it cannot decode a binary request. */
const UNDECODABLE = "parse binary: ";

/**
 * Connect reports a binary message that it cannot decode as an internal error. For a request, that is the caller's
 * mistake: `invalid_argument`. Other errors are returned unchanged.
 */
export function asRequestFault(err: ConnectError): ConnectError {
  if (err.code !== Code.Internal || !err.rawMessage.startsWith(UNDECODABLE)) return err;
  return new ConnectError(err.rawMessage, Code.InvalidArgument, undefined, undefined, err);
}
