import type { Given } from "../../../internal/cli/command/command.ts";
import { type PlaceConfig, readPlace } from "../../../internal/terminal/places/place-config.ts";
import { takeAgent } from "../common/command/agent-arguments.ts";
import { gtUsageError, readLines } from "../common/command/arguments.ts";
import type { WatchFlags } from "./watch-flags.ts";

const DEFAULT_INTERVAL_MS = 100;

export interface WatchOptions {
  readonly place: PlaceConfig;
  readonly agent: string;
  /** Absent: as many as fit the terminal. */
  readonly lines?: number | undefined;
  readonly ansi: boolean;
  readonly intervalMs: number;
  readonly json: boolean;
}

/** @throws DomainError `invalid` */
export function readWatch(
  { values, positionals }: Given<WatchFlags>,
  env: Readonly<Record<string, string | undefined>>,
): WatchOptions {
  const place = readPlace(values, env);
  const [agent] = takeAgent("watch", positionals, place);
  const { ansi = false, interval = DEFAULT_INTERVAL_MS, json = false } = values;
  if (interval < 10 || interval > 60_000) throw gtUsageError("watch", "--interval is between 10ms and 1m");
  const lines = values.lines === undefined ? undefined : readLines(values.lines);
  return { place, agent, lines, ansi, intervalMs: interval, json };
}
