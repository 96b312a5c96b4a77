import { Code, ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { connectErrorOf, domainErrorOf, withErrorInfo } from "../common/errors.ts";
import type { RouteAddress } from "./route.ts";

/** The response to a failed call, in the form of Connect's unary errors. */
export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** The refused call: its route, its URL, and its name in the log. */
interface Refused {
  readonly place: RouteAddress;
  readonly url: string;
  readonly name: string;
}

/**
 * The response to any error. An error that is neither a DomainError nor a ConnectError is a bug: logged, answered as
 * `internal`.
 */
export function refusalOf(err: unknown, { place, url, name }: Refused, logger: Logger): Refusal {
  const error = withErrorInfo(errorOf(err, name, logger));
  const meant = domainErrorOf(error);
  return {
    status: codeToHttpStatus(error.code),
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      ...(meant instanceof DomainError && place.refusalHeaders?.(meant, url)),
    },
    body:
      meant instanceof DomainError && place.refusalBody !== undefined
        ? Buffer.from(`${JSON.stringify(place.refusalBody(meant))}\n`)
        : errorToJsonBytes(error, undefined),
  };
}

function errorOf(err: unknown, name: string, logger: Logger): ConnectError {
  if (err instanceof ConnectError) return err;
  if (err instanceof DomainError) return connectErrorOf(err);
  logger.error({ err, method: name }, "a handler failed because of a bug");
  return new ConnectError("internal error", Code.Internal, undefined, undefined, err);
}
