import { createClient, createRouterTransport } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/grpc/health/v1/health_pb.ts";
import { HealthState, healthRoutes } from "./health.ts";

function clientOf(health: HealthState) {
  return createClient(Health, createRouterTransport(healthRoutes(health)));
}

it("does not serve until it is marked ready", async () => {
  const health = new HealthState();
  const client = clientOf(health);
  expect((await client.check({})).status).toBe(Status.NOT_SERVING);
  health.set("", true);
  expect((await client.check({})).status).toBe(Status.SERVING);
});

it("lists all services", async () => {
  const health = new HealthState();
  health.set("a.B", true);
  const { statuses } = await clientOf(health).list({});
  expect(statuses).toMatchObject({ "": { status: Status.NOT_SERVING }, "a.B": { status: Status.SERVING } });
});

it("reports each change to a watcher once, starting from an unknown service", async () => {
  const health = new HealthState();
  const stop = new AbortController();
  const updates = clientOf(health).watch({ service: "a.B" }, { signal: stop.signal })[Symbol.asyncIterator]();
  const next = async () => (await updates.next()).value?.status;
  expect(await next()).toBe(Status.SERVICE_UNKNOWN);
  health.set("other", true);
  health.set("a.B", true);
  expect(await next()).toBe(Status.SERVING);
  health.set("a.B", true);
  health.set("a.B", false);
  expect(await next()).toBe(Status.NOT_SERVING);
  stop.abort();
});

it("stays down after its shutdown", () => {
  const health = new HealthState();
  health.set("", true);
  health.set("a.B", true);
  health.shutDown();
  health.set("", true);
  health.set("new", true);
  expect([...health.services().values()]).toEqual([false, false, false]);
});

it("is not serving during a hindrance, and has the latest set state afterwards", async () => {
  const health = new HealthState();
  health.set("", true);
  health.hinder("no certificate", true);
  health.set("a.B", true);
  expect([...health.services().values(), health.hindrance]).toEqual([false, false, "no certificate"]);
  const change = health.changed(AbortSignal.timeout(5000));
  health.hinder("no certificate", false);
  await change;
  expect([...health.services().values(), health.hindrance]).toEqual([true, true, ""]);
});

it("forgets watchers that have left", async () => {
  const health = new HealthState();
  const stop = new AbortController();
  const waiting = health.changed(stop.signal);
  stop.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  await expect(health.changed(stop.signal)).rejects.toThrow("enough");
});
