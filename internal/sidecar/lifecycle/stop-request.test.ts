import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import type { StopRequest } from "../../session/stop.ts";
import { StopRequestHandler } from "./stop-request.ts";

const never = new AbortController().signal;
const request = { graceMs: 1000, force: false };

function setUp({ asked = false, pen = Promise.resolve() } = {}) {
  const clock = new FakeClock();
  const orders: StopRequest[] = [];
  const said: string[] = [];
  const deps = {
    clock,
    order: (order: StopRequest) => void orders.push(order),
    stopping: () => void said.push("stopping"),
    exclusively: (work: () => Promise<void>) => pen.then(work),
  };
  return { clock, orders, said, stopper: new StopRequestHandler(deps, asked) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("stopping the agent", () => {
  it("is ordered after any typing, and answered when the agent has ended", async () => {
    const pen = Promise.withResolvers<void>();
    const { orders, said, stopper } = setUp({ pen: pen.promise });
    stopper.alive();
    const stopped = stopper.stop(request, never);
    await turn();
    expect([said, orders]).toEqual([["stopping"], []]);
    pen.resolve();
    await turn();
    expect(orders).toEqual([request]);
    stopper.dead({ signal: 15 }, false);
    expect(await stopped).toEqual({ exitCode: 143, signal: "SIGTERM", alreadyStopped: false });
  });

  it("does not wait for a person's typing if forced, and only for a limited time otherwise", async () => {
    const { clock, orders, stopper } = setUp({ pen: new Promise(() => {}) });
    stopper.alive();
    const forced = stopper.stop({ graceMs: 0, force: true }, never);
    await turn();
    expect(orders).toHaveLength(1);
    const asked = stopper.stop(request, never);
    await clock.advance(5000);
    expect(orders).toHaveLength(2);
    stopper.dead({ signal: 9 }, false);
    expect([(await forced).signal, (await asked).signal]).toEqual(["SIGKILL", "SIGKILL"]);
  });

  it("reports how a stopped agent ended", async () => {
    const { orders, stopper } = setUp();
    stopper.dead({ code: 3 }, false);
    expect(await stopper.stop(request, never)).toEqual({ exitCode: 3, signal: "", alreadyStopped: true });
    expect(orders).toEqual([]);
  });

  it("cancels a pending restart", async () => {
    const { stopper } = setUp();
    stopper.dead({ code: 1 }, true);
    const stopped = stopper.stop(request, never);
    await turn();
    expect(stopper.asked.aborted).toBe(true);
    stopper.dead({ code: 1 }, false);
    expect(await stopped).toEqual({ exitCode: 1, signal: "", alreadyStopped: true });
  });

  it("continues in the next process if the first one is gone", () => {
    const { orders, said, stopper } = setUp({ asked: true });
    expect(stopper.asked.aborted).toBe(true);
    stopper.alive();
    expect([said, orders]).toEqual([["stopping"], [{ graceMs: 0, force: false }]]);
  });

  it("fails if the end is not seen", async () => {
    const { clock, stopper } = setUp();
    stopper.alive();
    const stopped = stopper.stop(request, never);
    const failed = expect(stopped).rejects.toMatchObject({ kind: "deadline" });
    await clock.advance(11_000);
    await failed;
  });

  it.each([-1, 600_001, 0.5])("is refused with a grace time of %d ms", async (graceMs) => {
    const { said, stopper } = setUp();
    await expect(stopper.stop({ graceMs, force: false }, never)).rejects.toMatchObject({ kind: "invalid" });
    expect(said).toEqual([]);
  });
});
