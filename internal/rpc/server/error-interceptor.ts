import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { connectErrorOf, type FieldsOfKind, withErrorInfo } from "../common/errors.ts";
import { mapFailures } from "../common/map-failures.ts";
import { asRequestFault } from "./request-faults.ts";

/**
 * Maps a handler's errors to codes: a DomainError by its kind, a ConnectError unchanged, the reason of an aborted call
 * if the handler stopped for that. Any other error is a bug: logged with its stack, answered as `internal`. Adds our
 * ErrorInfo to the details unless `describesErrors` is false. Applies to the bodies of streams as well.
 */
export function errorInterceptor(logger: Logger, describesErrors = true, fieldsOf?: FieldsOfKind): Interceptor {
  return (next) => async (req) => {
    const method = `${req.service.typeName}/${req.method.name}`;
    const answer = (err: unknown) => {
      const error = answerOf(err, req.signal, logger, method);
      return describesErrors ? withErrorInfo(error, fieldsOf) : error;
    };
    try {
      const res = await next(req.stream ? { ...req, message: mapFailures(req.message, requestFaultOf) } : req);
      return res.stream ? { ...res, message: mapFailures(res.message, answer) } : res;
    } catch (err) {
      throw answer(err);
    }
  };
}

function requestFaultOf(err: unknown): unknown {
  return err instanceof ConnectError ? asRequestFault(err) : err;
}

function answerOf(err: unknown, signal: AbortSignal, logger: Logger, method: string): ConnectError {
  if (err instanceof ConnectError) return err;
  if (err instanceof DomainError) return connectErrorOf(err);
  if (signal.aborted && (err === signal.reason || isAbortError(err))) return reasonOf(signal);
  logger.error({ err, method }, "a handler failed because of a bug");
  return new ConnectError("internal error", Code.Internal, undefined, undefined, err);
}

function reasonOf(signal: AbortSignal): ConnectError {
  if (signal.reason instanceof DomainError) return connectErrorOf(signal.reason);
  return ConnectError.from(signal.reason, Code.Canceled);
}

function isAbortError(err: unknown): boolean {
  return err instanceof Error && err.name === "AbortError";
}
