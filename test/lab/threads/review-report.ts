import { type Measured, measured } from "../../../bench/report/row.ts";
import { median } from "../../../bench/stats.ts";
import { growthRow } from "../growth.ts";
import type { ReviewFigures } from "./review.ts";

const none = { atMost: 0 };
/** An older process may use this many times the resources of one that has just restarted. */
const FLAT = 1.25;

/** A person who carries texts by hand carries the finding and the fix. */
const CARRIED_BY_HAND = 2;

export function reviewRows(found: ReviewFigures): readonly Measured[] {
  const { tookMs, kills, wakes, typed, unknown, doubled, lost, held } = found;
  const seconds = (values: readonly number[]) => median(values) / 1000;
  const slowest = Math.max(0, ...tookMs.killed) / 1000;
  const growth = (name: string, unit: string, values: readonly number[]) =>
    growthRow(`review: ${name}`, unit, values, { ratioAtMost: FLAT });
  return [
    measured("review: cycles that did not come to their end", lost, "cycles", none),
    measured("review: texts typed twice", doubled, "texts", none),
    measured("review: receipts that are false", found.false, "receipts", none),
    measured("review: cycles of review, fix and second review", tookMs.killed.length, "cycles"),
    measured("review: wakes", wakes, "wakes"),
    measured("review: texts that agents took", typed, "texts"),
    measured("review: UNKNOWN, which claims nothing", unknown, "texts"),
    measured("review: a cycle by threads, nothing killed, p50 (baseline: by hand)", seconds(tookMs.calm), "s", {
      baseline: seconds(tookMs.hand),
    }),
    measured("review: texts that a person carries in a cycle (baseline: by hand)", 0, "texts", {
      ...{ baseline: CARRIED_BY_HAND, ratioAtMost: 0.3 },
    }),
    measured("review: a cycle while everything is killed, p50", seconds(tookMs.killed), "s"),
    measured("review: a cycle while everything is killed, slowest", slowest, "s"),
    measured("review: servers killed", kills.server, "kills"),
    measured("review: PostgreSQL killed", kills.postgres, "kills"),
    measured("review: serving halves killed", kills.serving, "kills"),
    measured("review: agent programs killed", kills.agent, "kills"),
    ...growthRows(held, growth),
    ...(doubled + lost + found.false === 0 && typed > 0
      ? [measured("review: wrong, 95 % bound", 300 / typed, "%")]
      : []),
  ];
}

function growthRows(
  { servers, sidecars }: ReviewFigures["held"],
  row: (name: string, unit: string, values: readonly number[]) => Measured,
): readonly Measured[] {
  return [
    row(
      "memory of both servers",
      "MiB",
      servers.map(({ mib }) => mib),
    ),
    row(
      "descriptors of both servers",
      "open",
      servers.map((one) => one.descriptors),
    ),
    row(
      "memory of the sidecars",
      "MiB",
      sidecars.map(({ mib }) => mib),
    ),
    row(
      "descriptors of the sidecars",
      "open",
      sidecars.map((one) => one.descriptors),
    ),
  ];
}
