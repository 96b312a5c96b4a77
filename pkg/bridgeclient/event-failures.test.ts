import { expect, it } from "vitest";
import { BridgeError, type BridgeErrorCode } from "./errors.ts";
import { afterFailure } from "./event-failures.ts";

const BACKOFF = { firstMs: 100, maxMs: 1000, factor: 2 };
const after = (error: BridgeError, failures = 1, epoch = "e") =>
  afterFailure(error, { failures, epoch }, BACKOFF, () => 0.5);
const coded = (code: BridgeErrorCode) => new BridgeError(code, "no");

it.each<[BridgeErrorCode, number, object]>([
  ["unavailable", 1, { type: "reconnect", waitMs: 100 }],
  ["unavailable", 3, { type: "reconnect", waitMs: 400 }],
  ["unavailable", 1000, { type: "reconnect", waitMs: 1000 }],
  ["canceled", 50, { type: "reconnect", waitMs: 1000 }],
  ["unauthenticated", 10, { type: "reconnect", waitMs: 1000 }],
  ["unauthenticated", 11, { type: "fail" }],
  ["internal", 4, { type: "fail" }],
  ["not_found", 1, { type: "fail" }],
  ["permission_denied", 1, { type: "fail" }],
  ["failed_precondition", 1, { type: "fail" }],
  ["invalid_argument", 1, { type: "fail" }],
  ["unimplemented", 1, { type: "fail" }],
])("after %s, failure %i: %j", (code, failures, expected) => {
  expect(after(coded(code), failures)).toEqual(expected);
});

it("gives up sooner on a bridge that has never admitted it", () => {
  const error = coded("unauthenticated");
  expect(after(error, 3, "")).toEqual({ type: "reconnect", waitMs: 400 });
  expect(after(error, 4, "")).toEqual({ type: "fail" });
});

it("waits as long as the bridge says, if that is longer", () => {
  const error = new BridgeError("resource_exhausted", "too many", { retryAfterMs: 7000 });
  expect(after(error)).toEqual({ type: "reconnect", waitMs: 7000 });
});

it("starts over in a new epoch, and fails within the same one", () => {
  const error = new BridgeError("failed_precondition", "stale", { fields: { epoch: "f", head: "3" } });
  expect(after(error)).toEqual({ type: "begin-again", epoch: "f" });
  expect(after(error, 1, "f")).toEqual({ type: "fail" });
  expect(after(error, 1, "")).toEqual({ type: "fail" });
});
