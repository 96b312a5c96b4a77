import { Code, ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { connectErrorOf, domainErrorOf, withErrorInfo } from "../common/errors.ts";
import type { Place } from "./route.ts";

/** The answer of a call that failed, as Connect's unary errors have it. */
export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** The call that was refused: where it went, and its name in the log. */
interface Refused {
  readonly place: Place;
  readonly url: string;
  readonly name: string;
}

/** What is answered for anything that was thrown. Anything but an error for callers is a bug: logged, `internal`. */
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
