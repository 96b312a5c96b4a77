import { Code, ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { connectErrorOf, domainErrorOf, withErrorInfo } from "../common/errors.ts";

/** The answer of a call that failed, as Connect's unary errors have it. */
export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

type HeadersOf = ((refusal: DomainError) => Readonly<Record<string, string>>) | undefined;

/** What is answered for anything that was thrown. Anything but an error for callers is a bug: logged, `internal`. */
export function refusalOf(err: unknown, name: string, logger: Logger, headersOf: HeadersOf): Refusal {
  const error = withErrorInfo(errorOf(err, name, logger));
  const meant = domainErrorOf(error);
  return {
    status: codeToHttpStatus(error.code),
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      ...(meant instanceof DomainError && headersOf?.(meant)),
    },
    body: errorToJsonBytes(error, undefined),
  };
}

function errorOf(err: unknown, name: string, logger: Logger): ConnectError {
  if (err instanceof ConnectError) return err;
  if (err instanceof DomainError) return connectErrorOf(err);
  logger.error({ err, method: name }, "a handler failed because of a bug");
  return new ConnectError("internal error", Code.Internal, undefined, undefined, err);
}
