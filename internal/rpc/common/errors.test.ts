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
    expect(domainErrorOf(new ConnectError("no", code))).toMatchObject({ kind, message: "no" });
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

it.each([Code.Internal, Code.Unknown, Code.DataLoss])("keeps the other side's bug (code %d) unchanged", (code) => {
  const err = new ConnectError("internal error", code);
  expect(domainErrorOf(err)).toBe(err);
});

it("keeps our own bugs and errors unchanged", () => {
  const bug = new TypeError("x is not a function");
  const own = new DomainError("invalid", "no");
  expect(domainErrorOf(bug)).toBe(bug);
  expect(domainErrorOf(own)).toBe(own);
  expect(domainErrorOf(undefined)).toBe(undefined);
});
