import { expect, it } from "vitest";
import { randomFrom } from "../fuzz/random.ts";
import { reviewWhileKilling } from "../lab/threads/review.ts";
import { requireComponent } from "../support/cluster/components.ts";

/** Two agent programs start and answer, and a reminder takes two minutes. */
const LONG_MS = 1_200_000;

it("a share of the review loop: Claude Code and Codex resolve every change while servers, PostgreSQL and serving halves are killed", {
  timeout: LONG_MS,
}, async (context) => {
  await requireComponent(context, "claude");
  await requireComponent(context, "codex");
  const { tookMs, typed, ...found } = await reviewWhileKilling({
    ...{ seconds: 30, fixers: ["codex"], random: randomFrom(11), pauseMs: 10_000, calm: 1 },
  });
  expect(found).toMatchObject({ lost: 0, doubled: 0, false: 0 });
  expect(typed).toBeGreaterThan(0);
  expect([tookMs.hand.length, tookMs.calm.length]).toEqual([1, 1]);
  expect(tookMs.killed.length).toBeGreaterThan(0);
});
