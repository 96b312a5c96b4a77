/** One figure. `ratio` is value / baseline; both are null without a baseline, and `ratio` also for a baseline of 0. */
export interface Row {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly baseline: number | null;
  readonly ratio: number | null;
}

/** A figure and its target. */
export interface Measured extends Row {
  readonly aim?: { readonly text: string; readonly met: boolean };
}

/** A table whose cells are words, for results other than single figures. */
export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

/** The latest results of one measurement: the content of `bench/results/<name>.json`. */
export interface Results {
  /** The date, the machine, and other facts that readers of absolute figures need. */
  readonly run: string;
  readonly rows: readonly Measured[];
  readonly tables?: readonly Table[];
  readonly notes?: readonly string[];
}

/** By the name of its file, without `.json`. */
export type AllResults = ReadonlyMap<string, Results>;

interface Limits {
  readonly baseline?: number;
  /** Limits of the value, inclusive. */
  readonly atMost?: number | undefined;
  readonly atLeast?: number;
  /** Limits of value / baseline, inclusive. */
  readonly ratioAtMost?: number | undefined;
  readonly ratioAtLeast?: number;
}

export function measured(name: string, value: number, unit: string, limits: Limits = {}): Measured {
  const { baseline } = limits;
  const ratio = baseline === undefined || baseline === 0 ? null : value / baseline;
  const row = { name, value, unit, baseline: baseline ?? null, ratio };
  const checks = [
    check(limits.atMost, (limit) => [`≤ ${limit} ${unit}`, value <= limit]),
    check(limits.atLeast, (limit) => [`≥ ${limit} ${unit}`, value >= limit]),
    check(limits.ratioAtMost, (limit) => [`ratio ≤ ${limit}`, (ratio ?? 0) <= limit]),
    check(limits.ratioAtLeast, (limit) => [`ratio ≥ ${limit}`, (ratio ?? 0) >= limit]),
  ].filter((item) => item !== undefined);
  if (checks.length === 0) return row;
  return { ...row, aim: { text: checks.map(([text]) => text).join(", "), met: checks.every(([, met]) => met) } };
}

function check(limit: number | undefined, judge: (limit: number) => readonly [string, boolean]) {
  return limit === undefined ? undefined : judge(limit);
}

export function rowOf({ name, value, unit, baseline, ratio }: Measured): Row {
  return { name, value: rounded(value), unit, baseline: rounded(baseline), ratio: rounded(ratio) };
}

function rounded<T extends number | null>(value: T): T {
  return (value === null ? null : Number(value.toPrecision(4))) as T;
}
