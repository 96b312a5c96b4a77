import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { DomainError, type ErrorFields, type ErrorKind } from "../../base/errors.ts";
import { ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { networkFailureOf } from "./network-errors.ts";

/** `domain` of the `google.rpc.ErrorInfo` detail of each DomainError. */
const ERROR_DOMAIN = "gastown";

const CODES: Readonly<Record<ErrorKind, Code>> = {
  invalid: Code.InvalidArgument,
  "not-found": Code.NotFound,
  "already-exists": Code.AlreadyExists,
  precondition: Code.FailedPrecondition,
  exhausted: Code.ResourceExhausted,
  unauthenticated: Code.Unauthenticated,
  denied: Code.PermissionDenied,
  unavailable: Code.Unavailable,
  deadline: Code.DeadlineExceeded,
  cancelled: Code.Canceled,
  unimplemented: Code.Unimplemented,
};

/**
 * Kinds for errors that were sent without our detail. A code that is missing here (internal, unknown, data loss) means
 * a bug.
 */
const KINDS: ReadonlyMap<Code, ErrorKind> = new Map([
  ...Object.entries(CODES).map(([kind, code]) => [code, kind as ErrorKind] as const),
  [Code.OutOfRange, "invalid"],
  [Code.Aborted, "unavailable"], // connect-node's code for a connection that was cut
]);

/** The messages of other vendors' servers that have the service, but not the method. */
const LACKS_METHOD = /unknown method|method\b.*(?:not implemented|is unimplemented)|is not implemented/i;

/** The messages for answers that are not of the protocol: those of another program, or of a proxy. */
const FOREIGN_ANSWER = /^(?:HTTP \d{3}$|unsupported content type )/;

/**
 * The RPC code of a kind.
 * @internal
 */
export function codeOfKind(kind: ErrorKind): Code {
  return CODES[kind];
}

/**
 * Encodes a DomainError: code, message, kind and fields as `google.rpc.ErrorInfo`, and a field `retry_after_ms` as
 * `google.rpc.RetryInfo` too.
 */
export function connectErrorOf(err: DomainError): ConnectError {
  const metadata = Object.fromEntries(Object.entries(err.fields).map(([key, value]) => [key, String(value)]));
  const detail = { desc: ErrorInfoSchema, value: { reason: err.kind, domain: ERROR_DOMAIN, metadata } };
  const details = [detail, ...retryDetails(err.fields["retry_after_ms"])];
  return new ConnectError(err.message, codeOfKind(err.kind), undefined, details, err);
}

function retryDetails(ms: ErrorFields[string] | undefined) {
  if (typeof ms !== "number") return [];
  return [{ desc: RetryInfoSchema, value: { retryDelay: durationFromMs(ms) } }];
}

/** Reasons for codes that no kind of DomainError maps to. */
const OTHER_REASONS: Readonly<Partial<Record<Code, string>>> = {
  [Code.Unknown]: "unknown",
  [Code.Internal]: "internal",
  [Code.DataLoss]: "data-loss",
  [Code.Aborted]: "aborted",
  [Code.OutOfRange]: "invalid",
};

/** Fields for errors of a kind that Connect itself made. */
export type FieldsOfKind = (kind: ErrorKind) => Readonly<Record<string, string>>;

/**
 * Adds our `google.rpc.ErrorInfo`, with the fields of its kind, to an error without one; its `reason` follows from the
 * code. Returns `err`.
 */
export function withErrorInfo(err: ConnectError, fieldsOf?: FieldsOfKind): ConnectError {
  if (err.findDetails(ErrorInfoSchema).some(({ domain }) => domain === ERROR_DOMAIN)) return err;
  const reason = OTHER_REASONS[err.code] ?? KINDS.get(err.code) ?? "unknown";
  const metadata = fieldsOf !== undefined && isKind(reason) ? fieldsOf(reason) : {};
  err.details.push({ desc: ErrorInfoSchema, value: { reason, domain: ERROR_DOMAIN, metadata } });
  return err;
}

/**
 * The meaning of a failed call for the caller: a DomainError with the server's kind, message and fields (all strings),
 * also from a server that is not ours; `unavailable` if the server could not be reached, is none of this protocol or
 * lacks the service, `unauthenticated` if one side does not trust the other's certificate. A bug of either side is
 * returned unchanged.
 */
export function domainErrorOf(err: unknown): unknown {
  if (err instanceof DomainError) return err;
  const sent = err instanceof ConnectError ? sentFailureOf(err) : undefined;
  if (sent) return new DomainError(sent.kind, sent.message, { fields: sent.fields, cause: err });
  const network = networkFailureOf(err);
  if (network) return new DomainError(network.kind, network.message, { cause: err });
  if (!(err instanceof ConnectError)) return err;
  const kind = KINDS.get(err.code);
  if ((kind === undefined || kind === "unimplemented") && isForeignAnswer(err)) {
    const why = FOREIGN_ANSWER.test(err.rawMessage) ? "does not speak Connect" : "does not serve this API";
    return new DomainError("unavailable", `${why}: ${err.rawMessage || "it gives no reason"}`, { cause: err });
  }
  return kind ? new DomainError(kind, err.rawMessage, { cause: err }) : err;
}

/**
 * Whether a failed call was answered by a program that does not speak the protocol, or by another vendor's server that
 * lacks the service, so that no server of ours may have taken the call.
 */
export function isForeignAnswer({ code, details, rawMessage }: ConnectError): boolean {
  if (details.length > 0) return false; // ours sends details with every error
  return FOREIGN_ANSWER.test(rawMessage) || (code === Code.Unimplemented && !LACKS_METHOD.test(rawMessage));
}

function sentFailureOf(err: ConnectError): { kind: ErrorKind; message: string; fields: ErrorFields } | undefined {
  const info = err.findDetails(ErrorInfoSchema).find((detail) => detail.domain === ERROR_DOMAIN);
  if (info === undefined || !isKind(info.reason)) return undefined;
  const lacksService = info.reason === "unimplemented" && info.metadata["service"] !== undefined;
  return {
    kind: lacksService ? "unavailable" : info.reason,
    message: err.rawMessage,
    fields: { ...info.metadata },
  };
}

function isKind(text: string): text is ErrorKind {
  return Object.hasOwn(CODES, text);
}
