import { expect, it } from "vitest";
import { networkFailureOf } from "./network-errors.ts";

const failed = (code: string, cause?: unknown) => Object.assign(new Error(`failed with ${code}`, { cause }), { code });

it.each([
  ["ECONNREFUSED", "unavailable"],
  ["ENOTFOUND", "unavailable"],
  ["ECONNRESET", "unavailable"],
  ["ERR_HTTP2_SESSION_ERROR", "unavailable"],
  ["EPROTO", "unavailable"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "unavailable"],
  ["ERR_SSL_PACKET_LENGTH_TOO_LONG", "unavailable"],
  ["CERT_HAS_EXPIRED", "unauthenticated"],
  ["CERT_REVOKED", "unauthenticated"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "unauthenticated"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "unauthenticated"],
  ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", "unauthenticated"],
])("%s is %s", (code, kind) => {
  expect(networkFailureOf(failed(code))).toMatchObject({ kind, message: expect.stringContaining(code) });
});

it.each(["EACCES", "EPERM", "ENOTDIR", "EAGAIN"])("%s is unavailable if it refuses a connection", (code) => {
  const refused = Object.assign(failed(code), { syscall: "connect" });
  expect(networkFailureOf(new Error("outer", { cause: refused }))).toMatchObject({ kind: "unavailable" });
  expect(networkFailureOf(Object.assign(failed(code), { syscall: "open" }))).toBeUndefined();
});

it("searches causes and aggregated errors", () => {
  const aggregate = new AggregateError([failed("EHOSTUNREACH")], "");
  expect(networkFailureOf(new Error("outer", { cause: failed("X", aggregate) }))).toMatchObject({
    kind: "unavailable",
  });
});

it("finds the certificate error behind a connection that was reset because of it", () => {
  expect(networkFailureOf(failed("ECONNRESET", failed("CERT_REVOKED")))).toMatchObject({ kind: "unauthenticated" });
});

it("ends at an error that is its own cause, and at a value that is not an error", () => {
  const loop = failed("X");
  loop.cause = loop;
  expect(networkFailureOf(loop)).toBeUndefined();
  expect(networkFailureOf("ECONNREFUSED")).toBeUndefined();
  expect(networkFailureOf(undefined)).toBeUndefined();
});
