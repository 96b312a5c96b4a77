import { expect, it } from "vitest";
import { BridgeError, type BridgeErrorCode, type BridgeErrorOptions } from "./errors.ts";
import { retryWaitMs } from "./retry.ts";

const RULES = { maxAttempts: 3, backoff: { firstMs: 100, maxMs: 1000, factor: 2 } };
const wait = (code: BridgeErrorCode, failures: number, leftMs: number, options: BridgeErrorOptions = {}) =>
  retryWaitMs(new BridgeError(code, "no", options), { failures, leftMs }, RULES, () => 0.5);

it.each<[string, number | undefined, number | undefined]>([
  ["a bridge that is gone for a moment", wait("unavailable", 1, 5000), 100],
  ["the second attempt", wait("unavailable", 2, 5000), 200],
  ["the last attempt", wait("unavailable", 3, 5000), undefined],
  ["no time left for the wait", wait("unavailable", 2, 150), undefined],
  ["a refusal", wait("permission_denied", 1, 5000), undefined],
  ["a limit: the caller decides", wait("resource_exhausted", 1, 5000, { retryAfterMs: 10 }), undefined],
  ["a token that the bridge refuses", wait("unauthenticated", 1, 5000, { fromServer: true }), undefined],
  ["a connection that is cut in its handshake, once", wait("unauthenticated", 1, 5000), 100],
  ["a second such connection", wait("unauthenticated", 2, 5000), undefined],
  ["the delay that the bridge states", wait("unavailable", 1, 5000, { retryAfterMs: 700 }), 700],
])("%s", (_what, waitMs, expected) => {
  expect(waitMs).toBe(expected);
});
