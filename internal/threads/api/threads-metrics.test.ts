import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { ThreadsMetrics } from "./threads-metrics.ts";

it("counts the outcomes of wakes, loops, refusals and the database in seconds and under fixed words", async () => {
  const registry = new Registry();
  const open = async () => ({ wakes: 3, escalations: 2, unread: 7 });
  const metrics = new ThreadsMetrics(registry, { hears: () => true, open });
  metrics.wakeEnded({ state: "DEFERRED", ageMs: 10, deferredBy: "person" });
  metrics.wakeEnded({ state: "DEFERRED", ageMs: 20 });
  metrics.wakeEnded({ state: "SUBMITTED", ageMs: 1500 });
  metrics.wakeEnded({ state: "SUBMITTED" });
  metrics.visible(40);
  metrics.visible(-3); // clocks may differ
  metrics.loopBlocked("hop_limit");
  metrics.refused("UNAUTHORIZED");
  metrics.databaseFailed("57P01");
  const lines = (await registry.metrics()).split("\n");
  for (const line of [
    'wakes_total{outcome="deferred",kind="live"} 2',
    'wakes_total{outcome="submitted",kind="live"} 2',
    'wake_deferred_total{by="person"} 1',
    "wake_submitted_seconds_count 1",
    "wake_submitted_seconds_sum 1.5",
    "visible_seconds_count 2",
    "visible_seconds_sum 0.04",
    'loop_blocks_total{rule="hop_limit"} 1',
    'auth_refused_total{code="unauthorized"} 1',
    'db_errors_total{code="57P01"} 1',
    "wakes_open 3",
    "escalations_open 2",
    "unread 7",
  ]) {
    expect(lines).toContain(`gt_threads_${line}`);
  }
});
