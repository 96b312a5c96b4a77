import { choiceOf, knownWord } from "../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import { type PlaceConfig, readPlace } from "../../../internal/terminal/places/place-config.ts";
import { takeAgent } from "../common/command/agent-arguments.ts";
import { gtUsageError } from "../common/command/arguments.ts";
import type { WaitFlags } from "./wait-flags.ts";
import { GOALS, type WaitGoal } from "./wait-goal.ts";

const DEFAULT_TIMEOUT_MS = 600_000;
const MAX_TIMEOUT_MS = 24 * 3_600_000;

export interface WaitOptions {
  readonly place: PlaceConfig;
  readonly agent: string;
  readonly goal: WaitGoal;
  readonly timeoutMs: number;
  readonly json: boolean;
}

/** @throws DomainError `invalid` */
export function readWait(
  { values, positionals, rest }: Given<WaitFlags>,
  env: Readonly<Record<string, string | undefined>>,
): WaitOptions {
  const place = readPlace(values, env);
  const [agent] = takeAgent("wait", [...positionals, ...(rest ?? [])], place);
  const { for: wanted, timeout = DEFAULT_TIMEOUT_MS } = values;
  if (wanted === undefined) throw gtUsageError("wait", `for what? --for takes ${choiceOf(GOALS)}`);
  const goal = knownWord("--for", wanted, GOALS, "gt wait --help shows its usage");
  if (timeout < 1 || timeout > MAX_TIMEOUT_MS) throw gtUsageError("wait", "--timeout is between 1ms and 24h");
  return { place, agent, goal, timeoutMs: timeout, json: values.json ?? false };
}
