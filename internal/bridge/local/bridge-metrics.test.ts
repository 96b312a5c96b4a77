import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { DomainError } from "../../base/errors.ts";
import { BridgeMetrics } from "./bridge-metrics.ts";

it("counts current sessions, and starts by outcome, only under configured providers", async () => {
  const registry = new Registry();
  const metrics = new BridgeMetrics(registry, ["demo"]);
  const sessions = [{ provider: "demo", status: "running" } as const, { provider: "demo", status: "running" } as const];
  metrics.observe(() => sessions);
  metrics.started("demo");
  metrics.started("x".repeat(100), new DomainError("invalid", "no such provider"));
  const text = await registry.metrics();
  expect(text).toContain('gastown_bridge_sessions{provider="demo",status="running"} 2');
  expect(text).toContain('gastown_bridge_starts_total{provider="demo",outcome="ok"} 1');
  expect(text).toContain('gastown_bridge_starts_total{provider="unknown",outcome="invalid"} 1');
  sessions.length = 0;
  expect(await registry.metrics()).not.toContain("running");
});
