import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { ClusterClock } from "./cluster-clock.ts";

const MINUTE = 60_000;

/** A machine whose clock is ahead of the API server's by `aheadMs`, and its log. */
function machine(aheadMs: number) {
  const server = new FakeClock();
  const own = new FakeClock(server.now() + aheadMs);
  const said: unknown[] = [];
  const note = (...args: readonly unknown[]) => said.push(args.at(-1));
  const clock = new ClusterClock({ clock: own, logger: { ...silentLogger, error: note, info: note } });
  const answer = (ms = 20) => clock.answered(new Date(server.now()).toUTCString(), ms);
  return { server, own, clock, said, answer };
}

describe("the clock of the API server", () => {
  it.each([10 * MINUTE, -10 * MINUTE, 6_500, -6_500])("corrects a machine clock that is ahead by %i ms", (aheadMs) => {
    const { server, clock, said, answer } = machine(aheadMs);
    answer();
    expect(Math.abs(clock.now() - server.now())).toBeLessThan(1_100);
    expect(Math.abs(clock.aheadMs - aheadMs)).toBeLessThan(1_100);
    answer();
    expect(said).toEqual(["this machine's clock disagrees with the API server's: correct this machine's clock"]);
  });

  it.each([0, 4_000, -4_000])("is the machine's own if they differ by %i ms", (aheadMs) => {
    const { own, clock, said, answer } = machine(aheadMs);
    answer();
    expect([clock.now(), clock.aheadMs, said]).toEqual([own.now(), 0, []]);
  });

  it("does not mistake a slow answer for a wrong clock", () => {
    const { own, clock } = machine(0);
    clock.answered(new Date(own.now() - 30_000).toUTCString(), 30_000);
    expect(clock.aheadMs).toBe(0);
  });

  it("does not change with each answer", async () => {
    const { server, own, clock, answer } = machine(10 * MINUTE);
    const seen = new Set<number>();
    for (let i = 0; i < 40; i++) {
      answer();
      seen.add(clock.aheadMs);
      await server.advance(250);
      await own.advance(250);
    }
    expect(seen.size).toBeLessThan(4);
    expect(Math.abs(clock.aheadMs - 10 * MINUTE)).toBeLessThan(500);
  });

  it("follows a machine whose clock is corrected, and logs it", () => {
    const { own, clock, said, answer } = machine(10 * MINUTE);
    answer();
    own.jump(-10 * MINUTE);
    answer();
    expect([clock.now(), said[1]]).toEqual([own.now(), "this machine's clock agrees with the API server's again"]);
  });

  it.each([undefined, "", "yesterday", ["a", "b"]])("ignores the date %j", (date) => {
    const { clock } = machine(10 * MINUTE);
    clock.answered(date, 0);
    expect(clock.aheadMs).toBe(0);
  });
});
