import { type Measured, measured } from "../../bench/report/row.ts";
import { median } from "../../bench/stats.ts";

interface GrowthOptions {
  readonly ratioAtMost?: number;
  /** Default: the median. */
  readonly average?: ((values: readonly number[]) => number) | undefined;
}

/** Compares the last third of `values`, in order of time, with the first. NaN counts as no value. */
export function growthRow(
  name: string,
  unit: string,
  values: readonly number[],
  { average = median, ...limits }: GrowthOptions = {},
): Measured {
  const third = Math.floor(values.length / 3);
  const [early, late] = [values.slice(0, third), values.slice(-third)].map((part) =>
    average(part.filter((value) => !Number.isNaN(value))),
  );
  const label = `${name}, last third (baseline: first third)`;
  return measured(label, late ?? 0, unit, { baseline: early ?? 0, ...limits });
}
