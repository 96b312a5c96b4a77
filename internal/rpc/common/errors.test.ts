import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { DomainError, type ErrorKind } from "../../base/errors.ts";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { codeOfKind, connectErrorOf, domainErrorOf } from "./errors.ts";

const table: [ErrorKind, Code][] = [
  ["invalid", Code.InvalidArgument],
  ["not-found", Code.NotFound],
  ["already-exists", Code.AlreadyExists],
  ["precondition", Code.FailedPrecondition],
  ["exhausted", Code.ResourceExhausted],
  ["unauthenticated", Code.Unauthenticated],
  ["denied", Code.PermissionDenied],
  ["unavailable", Code.Unavailable],
  ["deadline", Code.DeadlineExceeded],
  ["cancelled", Code.Canceled],
  ["unimplemented", Code.Unimplemented],
];

describe.each(table)("%s", (kind, code) => {
  it("has its own code in both directions", () => {
    expect(codeOfKind(kind)).toBe(code);
    const message = kind === "unimplemented" ? "method Do not implemented" : "no";
    expect(domainErrorOf(new ConnectError(message, code))).toMatchObject({ kind, message });
  });

  it("is received with its kind, message and fields", () => {
    const sent = connectErrorOf(new DomainError(kind, "cannot", { fields: { epoch: "e", head: 7, ours: true } }));
    const got = domainErrorOf(sent);
    expect(got).toBeInstanceOf(DomainError);
    expect(got).toMatchObject({
      kind,
      message: "cannot",
      fields: { epoch: "e", head: "7", ours: "true" },
      cause: sent,
    });
  });
});

it("does not accept another domain's detail, or an unknown kind, as its own", () => {
  const foreign = (reason: string, domain: string) =>
    new ConnectError("no", Code.NotFound, undefined, [{ desc: ErrorInfoSchema, value: { reason, domain } }]);
  expect(domainErrorOf(foreign("denied", "example.org"))).toMatchObject({ kind: "not-found", fields: {} });
  expect(domainErrorOf(foreign("toString", "gastown"))).toMatchObject({ kind: "not-found" });
});

it("takes a server that lacks the service for one that is not there, and not one that lacks the method", () => {
  const lacks = (fields: Record<string, string>) =>
    domainErrorOf(connectErrorOf(new DomainError("unimplemented", "this server lacks it", { fields })));
  expect(lacks({ service: "a.B" })).toMatchObject({ kind: "unavailable", message: "this server lacks it" });
  expect(lacks({})).toMatchObject({ kind: "unimplemented" });
});

it.each([
  ["grpc-go", "unknown service a.B"],
  ["grpc-java and grpc-python", "Method not found!"],
  ["grpc-js", "The server does not implement the method /a.B/Do"],
  ["grpc-dotnet", "Service is unimplemented."],
  ["grpc-core and tonic", ""],
])("takes the answer of another vendor's server (%s) for a server that is not there", (_, answer) => {
  const message = `does not serve this API: ${answer || "it gives no reason"}`;
  expect(domainErrorOf(new ConnectError(answer, Code.Unimplemented))).toMatchObject({ kind: "unavailable", message });
});

it.each([
  ["grpc-go", "unknown method Do for service a.B"],
  ["grpc-go's generated code", "method Do not implemented"],
  ["grpc-java's generated code", "Method a.B/Do is unimplemented"],
  ["connect-go's generated code", "a.B.Do is not implemented"],
])("keeps the answer of another vendor's server (%s) that lacks the method only", (_, answer) => {
  expect(domainErrorOf(new ConnectError(answer, Code.Unimplemented))).toMatchObject({ kind: "unimplemented" });
});

it.each([Code.Internal, Code.Unknown, Code.DataLoss])("keeps the other side's bug (code %d) unchanged", (code) => {
  const err = new ConnectError("internal error", code);
  expect(domainErrorOf(err)).toBe(err);
});

it.each([
  ["unsupported content type text/html", Code.Unknown],
  ["unsupported content type application/json", Code.Internal],
  ["HTTP 302", Code.Unknown],
  ["HTTP 400", Code.Internal],
  ["HTTP 404", Code.Unimplemented],
  ["HTTP 500", Code.Unknown],
])("takes a server that answers %j for one that is not there, and not for a bug", (answer, code) => {
  expect(domainErrorOf(new ConnectError(answer, code))).toMatchObject({
    kind: "unavailable",
    message: `does not speak Connect: ${answer}`,
  });
});

it.each([
  ["HTTP 401", Code.Unauthenticated, "unauthenticated"],
  ["HTTP 403", Code.PermissionDenied, "denied"],
  ["HTTP 502", Code.Unavailable, "unavailable"],
] as const)("keeps the meaning of %s", (message, code, kind) => {
  expect(domainErrorOf(new ConnectError(message, code))).toMatchObject({ kind, message });
});

it("keeps our own bugs and errors unchanged", () => {
  const bug = new TypeError("x is not a function");
  const own = new DomainError("invalid", "no");
  expect(domainErrorOf(bug)).toBe(bug);
  expect(domainErrorOf(own)).toBe(own);
  expect(domainErrorOf(undefined)).toBe(undefined);
});
