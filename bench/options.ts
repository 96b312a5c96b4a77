import { DomainError } from "../internal/base/errors.ts";
import { parseFlags } from "../internal/cli/flags.ts";

const SECTIONS = [
  "start",
  "peek",
  "output",
  "latency",
  "stalled",
  "watchers",
  "nudge",
  "phase",
  "attach",
  "events",
  "trust",
  "revocation",
  "bridge",
  "relay",
  "gt",
] as const;
export type Section = (typeof SECTIONS)[number];

export interface BenchOptions {
  readonly only: readonly Section[];
  /** Fewer rounds: a quick look without reliable figures. */
  readonly quick: boolean;
  /** File for the rows as JSON. */
  readonly json: string | undefined;
  /** Keep the results in bench/results. */
  readonly write: boolean;
  /** Folder for CPU profiles of all sidecars. */
  readonly profileDir: string | undefined;
}

export const help = `Measures this build and, in the same run, other ways to do the same as baselines.

Usage: npm run bench -- [flags]

  --only LIST      ${SECTIONS.join(", ")} (all)
  --quick          fewer rounds
  --json FILE      writes the rows: name, value, unit, baseline, ratio (value / baseline)
  --write          stores the rows in bench/results and regenerates bench/RESULTS.md
  --cpu-prof DIR   writes CPU profiles of the sidecars to this folder
`;

const specs = {
  only: { type: "list" },
  quick: { type: "boolean" },
  json: { type: "string" },
  write: { type: "boolean" },
  "cpu-prof": { type: "string" },
} as const;

/** @throws DomainError `invalid` */
export function readOptions(argv: readonly string[]): BenchOptions | "help" {
  const { ask, values } = parseFlags(specs, argv, {});
  if (ask !== undefined) return "help";
  const only = (values.only ?? []).flatMap((list) => list.split(",")).map(sectionNamed);
  return {
    only: only.length === 0 ? SECTIONS : only,
    quick: values.quick ?? false,
    json: values.json,
    write: values.write ?? false,
    profileDir: values["cpu-prof"],
  };
}

function sectionNamed(name: string): Section {
  const found = SECTIONS.find((section) => section === name);
  if (found === undefined) throw new DomainError("invalid", `--only takes ${SECTIONS.join(", ")}, not "${name}"`);
  return found;
}
