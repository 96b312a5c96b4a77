import type { DescService } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { SidecarService } from "../../gen/gastown/v1/sidecar_pb.ts";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { StartupGate } from "./startup-gate.ts";

/** Calls through the gate, and which have passed it. */
function gate() {
  const clock = new FakeClock();
  const first = new StartupGate(clock);
  const passed: string[] = [];
  const call = async (name: string, service: DescService = SidecarService, signal = new AbortController().signal) => {
    await first.gate({ service, signal });
    passed.push(name);
  };
  return { clock, call, look: () => first.done(), passed };
}

it("holds calls until the agent was examined, and none afterwards", async () => {
  const { clock, call, look, passed } = gate();
  const calls = [call("one"), call("two")];
  await clock.advance(500);
  expect(passed).toEqual([]);
  look();
  await Promise.all(calls);
  await call("three");
  expect([passed, clock.sleeping]).toEqual([["one", "two", "three"], 0]);
});

it("holds no call for longer than two seconds after the start, whenever it arrived", async () => {
  const { clock, call, passed } = gate();
  await clock.advance(1700);
  const late = call("late");
  await clock.advance(299);
  expect(passed).toEqual([]);
  await clock.advance(1);
  await late;
  await call("later");
  expect(passed).toEqual(["late", "later"]);
});

it("passes calls that do not concern the agent", async () => {
  const { call, passed } = gate();
  await call("health", Health);
  expect(passed).toEqual(["health"]);
});

it("ends with the call", async () => {
  const { clock, call } = gate();
  const stop = new AbortController();
  const held = call("given up", SidecarService, stop.signal);
  await settle();
  stop.abort(new Error("gone"));
  await expect(held).rejects.toThrow("gone");
  expect(clock.sleeping).toBe(0);
});
