import { durationMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { DomainError, type ErrorKind, errorText } from "../../internal/base/errors.ts";
import { ErrorInfoSchema, RetryInfoSchema } from "../../internal/gen/google/rpc/error_details_pb.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";

/** The RPC code of a failure, as Connect and gRPC name it. */
export type BridgeErrorCode =
  | "canceled"
  | "unknown"
  | "invalid_argument"
  | "deadline_exceeded"
  | "not_found"
  | "already_exists"
  | "permission_denied"
  | "resource_exhausted"
  | "failed_precondition"
  | "aborted"
  | "out_of_range"
  | "unimplemented"
  | "internal"
  | "unavailable"
  | "data_loss"
  | "unauthenticated";

/** @internal */
export interface BridgeErrorOptions {
  readonly reason?: string;
  readonly retryAfterMs?: number | undefined;
  readonly fields?: Readonly<Record<string, string>>;
  readonly fromServer?: boolean;
  readonly cause?: unknown;
}

/** Every failure of the client: the bridge refused a call or cannot be reached, or an option is wrong. */
export class BridgeError extends Error {
  readonly code: BridgeErrorCode;
  /** The kind of failure, for programs, e.g. `not-found`, `precondition`, `exhausted`. */
  readonly reason: string;
  /** Wait this long before a retry, ms, if the bridge says so, e.g. for a rate limit. */
  readonly retryAfterMs: number | undefined;
  /** Facts for programs, e.g. `epoch` and `head` of a session's log. */
  readonly fields: Readonly<Record<string, string>>;
  /** True if the bridge sent this error; otherwise the call failed in this program or on the network. */
  readonly fromServer: boolean;

  /** @internal */
  constructor(code: BridgeErrorCode, message: string, options: BridgeErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "BridgeError";
    this.code = code;
    this.reason = options.reason ?? code.replaceAll("_", "-");
    this.retryAfterMs = options.retryAfterMs;
    this.fields = options.fields ?? {};
    this.fromServer = options.fromServer ?? false;
  }
}

const KIND_CODES: Readonly<Record<ErrorKind, BridgeErrorCode>> = {
  invalid: "invalid_argument",
  "not-found": "not_found",
  "already-exists": "already_exists",
  precondition: "failed_precondition",
  exhausted: "resource_exhausted",
  unauthenticated: "unauthenticated",
  denied: "permission_denied",
  unavailable: "unavailable",
  deadline: "deadline_exceeded",
  cancelled: "canceled",
  unimplemented: "unimplemented",
};

/** Codes to which no kind of DomainError maps: they report bugs of the bridge or of this client. */
const OTHER_CODES: Readonly<Partial<Record<Code, BridgeErrorCode>>> = {
  [Code.Unknown]: "unknown",
  [Code.Internal]: "internal",
  [Code.DataLoss]: "data_loss",
};

/** The BridgeError for a failed call. @internal */
export function bridgeErrorOf(err: unknown): BridgeError {
  if (err instanceof BridgeError) return err;
  const details = detailsOf(err);
  const known = domainErrorOf(err);
  if (known instanceof DomainError) {
    const fields = Object.fromEntries(Object.entries(known.fields).map(([name, value]) => [name, String(value)]));
    return new BridgeError(KIND_CODES[known.kind], known.message, {
      ...details,
      reason: known.kind,
      fields,
      cause: err,
    });
  }
  const code = (err instanceof ConnectError && OTHER_CODES[err.code]) || "unknown";
  const message = err instanceof ConnectError ? err.rawMessage : errorText(err);
  return new BridgeError(code, message, { ...details, cause: err });
}

function detailsOf(err: unknown): BridgeErrorOptions {
  if (!(err instanceof ConnectError)) return {};
  const delay = err.findDetails(RetryInfoSchema)[0]?.retryDelay;
  return {
    fromServer: err.findDetails(ErrorInfoSchema).length > 0,
    retryAfterMs: delay && durationMs(delay),
  };
}

/** The error of a call after the client was closed. */
export function clientClosed(): BridgeError {
  return new BridgeError("canceled", "the client is closed", { reason: "cancelled" });
}

/** The error for an unusable option, or an unusable file that an option names. */
export function invalidOption(message: string, cause?: unknown): BridgeError {
  return new BridgeError("invalid_argument", message, { reason: "invalid", cause });
}
