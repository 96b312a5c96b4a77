import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { RateLimiter } from "./rate-limiter.ts";

it("allows each caller a burst and then a number per minute, and reports the first excess call", async () => {
  const clock = new FakeClock();
  const limiter = new RateLimiter({ clock }, { what: "starts", perMinute: 6 });
  for (let i = 0; i < 6; i++) limiter.take("ann", "s1");
  const refused = { kind: "exhausted", fields: { limit: 6, retry_after_ms: 10_000 } };
  expect(() => limiter.take("ann", "s1")).toThrow(expect.objectContaining(refused));
  limiter.take("ann", "s2");
  limiter.take("bob", "s1");
  await clock.advance(9_999);
  expect(() => limiter.take("ann", "s1")).toThrow("too many starts");
  await clock.advance(1);
  limiter.take("ann", "s1");
  expect(() => limiter.take("ann", "s1")).toThrow();
  await clock.advance(3_600_000);
  for (let i = 0; i < 6; i++) limiter.take("ann", "s1");
  expect(() => limiter.take("ann", "s1")).toThrow();
});

it("keeps apart keys whose parts are the same when joined", () => {
  const limiter = new RateLimiter({ clock: new FakeClock() }, { what: "inputs", perMinute: 1 });
  limiter.take("a b", "c");
  limiter.take("a", "b c");
  expect(() => limiter.take("a", "b c")).toThrow();
});
