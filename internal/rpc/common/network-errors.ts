import { causesOf, codeOf, type ErrorKind, isConnectFailure } from "../../base/errors.ts";

/** Node's codes for certificate errors; OpenSSL's begin with `ERR_SSL_` or `ERR_TLS_`. */
const CERTIFICATE_CODES =
  /^(?:CERT_|CRL_HAS_EXPIRED|DEPTH_ZERO_SELF_SIGNED|HOSTNAME_MISMATCH|INVALID_(?:CA|PURPOSE)$|SELF_SIGNED_CERT|UNABLE_TO_(?:GET|VERIFY)_)/;

/** The other end does not speak TLS: not a question of trust. */
const NOT_TLS = /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|RECORD_LAYER/;

const UNREACHABLE_CODES: ReadonlySet<string> = new Set([
  "EADDRNOTAVAIL",
  "EAI_AGAIN",
  "EAI_FAIL",
  "EAI_NODATA",
  "EAI_NONAME",
  "ECONNABORTED",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "ENETDOWN",
  "ENETUNREACH",
  "ENOENT", // no such unix socket
  "ENOTFOUND",
  "EPIPE",
  "EPROTO",
  "ETIMEDOUT",
  "ERR_HTTP2_ERROR", // the other end does not speak HTTP/2
  "ERR_HTTP2_GOAWAY_SESSION",
  "ERR_HTTP2_INVALID_SESSION",
  "ERR_HTTP2_PING_CANCEL",
  "ERR_HTTP2_SESSION_ERROR",
  "ERR_HTTP2_STREAM_CANCEL",
  "ERR_SOCKET_CLOSED",
  "ERR_SOCKET_CONNECTION_TIMEOUT",
  "ERR_STREAM_PREMATURE_CLOSE",
]);

export interface NetworkFailure {
  readonly kind: Extract<ErrorKind, "unavailable" | "unauthenticated">;
  readonly message: string;
}

/**
 * Classifies an error of the network or of TLS, including those in `cause` and in aggregated errors; undefined:
 * neither.
 */
export function networkFailureOf(err: unknown): NetworkFailure | undefined {
  const chain = causesOf(err).map((one) => {
    const code = codeOf(one);
    return { code, message: one.message || code, isConnect: isConnectFailure(one) };
  });
  const untrusted = chain.find(({ code }) => isTrustCode(code));
  if (untrusted) return { kind: "unauthenticated", message: `not trusted: ${untrusted.message}` };
  // No error of connect(2) is a bug: its cause may be another user's socket, a path that is not a socket, or a
  // firewall.
  const unreachable = chain.find(({ code, isConnect }) => isConnect || UNREACHABLE_CODES.has(code) || isTlsCode(code));
  if (unreachable) return { kind: "unavailable", message: `cannot be reached: ${unreachable.message}` };
  return undefined;
}

function isTlsCode(code: string): boolean {
  return code.startsWith("ERR_SSL_") || code.startsWith("ERR_TLS_");
}

function isTrustCode(code: string): boolean {
  return CERTIFICATE_CODES.test(code) || (isTlsCode(code) && !NOT_TLS.test(code));
}
