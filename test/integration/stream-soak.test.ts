import { expect, it } from "vitest";
import { soakStreams } from "../lab/streams/streams.ts";

/**
 * `npm run soak -- --only streams --cuts 1000 --every 60` is the run that the project promises; a part of it runs every
 * time.
 */
const CUTS = Number(process.env["GT_CUTS"] ?? 40);

it(
  `streams lose, repeat and hide no byte or event over ${CUTS} cut connections, stalls, floods, restarts and kills`,
  async () => {
    const options = { ms: 600_000, cuts: CUTS, everyMs: 80, seed: 5, program: undefined, say: () => {} };
    const { faults, done, checked, events, connects } = await soakStreams(options, new AbortController().signal);
    expect(faults).toEqual([]);
    expect(done.cut).toBe(CUTS);
    expect(done.kill).toBeGreaterThan(0);
    expect(checked).toBeGreaterThan(100_000);
    expect(events).toBeGreaterThan(20);
    expect(connects).toBeGreaterThan(CUTS / 4);
  },
  240_000 + CUTS * 2000,
);
