import { namesOneAgent, type PlaceConfig } from "../../../../internal/terminal/places/place-config.ts";
import { takeArguments } from "./arguments.ts";

interface OtherArguments {
  /** Names of the arguments behind the agent that must be there, and of those that may be. */
  readonly must?: readonly string[];
  readonly may?: readonly string[];
  /**
   * Whether these arguments begin without the agent's name, where it may be left out. Default: when there are only as
   * many as must be there.
   */
  readonly isNameless?: (given: readonly string[]) => boolean;
}

/**
 * The agent's name and the arguments behind it. At the address of one sidecar there is one agent: its name may be left
 * out, and is empty then.
 * @throws DomainError `invalid`
 */
export function takeAgent(
  command: string,
  given: readonly string[],
  place: PlaceConfig,
  { must = [], may = [], isNameless = ({ length }) => length <= must.length }: OtherArguments = {},
): readonly [agent: string, ...others: readonly string[]] {
  if (namesOneAgent(place) && isNameless(given)) return ["", ...takeArguments(command, given, must, may)];
  const [agent = "", ...others] = takeArguments(command, given, ["agent", ...must], may);
  return [agent, ...others];
}

/** For an argument that is a number: no agent has such a name. */
export function isOneNumber([first, ...others]: readonly string[]): boolean {
  return first === undefined || (others.length === 0 && /^\d+$/.test(first));
}
