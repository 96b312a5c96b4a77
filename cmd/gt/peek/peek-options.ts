import type { Given } from "../../../internal/cli/command/command.ts";
import { type PlaceConfig, readPlace } from "../../../internal/terminal/places/place-config.ts";
import { isOneNumber, takeAgent } from "../common/command/agent-arguments.ts";
import { gtUsageError, readLines } from "../common/command/arguments.ts";
import type { PeekFlags } from "./peek-flags.ts";

const DEFAULT_LINES = 100;

export interface PeekOptions {
  readonly place: PlaceConfig;
  readonly agent: string;
  readonly lines: number;
  readonly all: boolean;
  readonly ansi: boolean;
  readonly join: boolean;
  readonly json: boolean;
  readonly follow: boolean;
}

/** @throws DomainError `invalid` */
export function readPeek(
  { values, positionals, rest }: Given<PeekFlags>,
  env: Readonly<Record<string, string | undefined>>,
): PeekOptions {
  const place = readPlace(values, env);
  const given = [...positionals, ...(rest ?? [])];
  const [agent, count] = takeAgent("peek", given, place, { may: ["count"], isNameless: isOneNumber });
  const { all = false, ansi = false, join = false, json = false, follow = false } = values;
  if (all && (count ?? values.lines) !== undefined)
    throw gtUsageError("peek", "give a number of lines or --all, not both");
  if (follow && json) throw gtUsageError("peek", "--follow prints lines; gt watch --json streams JSON");
  if (follow && (all || join)) throw gtUsageError("peek", `--follow does not take ${all ? "--all" : "--join"}`);
  const lines = readLines(count ?? values.lines ?? DEFAULT_LINES);
  return { place, agent, lines, all, ansi, join, json, follow };
}
