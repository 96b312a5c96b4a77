import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { RateLimiter } from "./rate-limiter.ts";

it("lets each caller do so many at once and then so many a minute, and says when there is one more", async () => {
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

it("does not take two parts of a key for others that read alike", () => {
  const limiter = new RateLimiter({ clock: new FakeClock() }, { what: "inputs", perMinute: 1 });
  limiter.take("a b", "c");
  limiter.take("a", "b c");
  expect(() => limiter.take("a", "b c")).toThrow();
});
