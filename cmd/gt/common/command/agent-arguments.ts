import { namesOneAgent, type PlaceConfig } from "../../../../internal/terminal/places/place-config.ts";
import { gtArguments } from "./arguments.ts";

interface OtherArguments {
  /** The names of the required and of the optional arguments after the agent. */
  readonly must?: readonly string[];
  readonly may?: readonly string[];
  /**
   * Whether the arguments omit the agent's name, where that is allowed. Default: when there are no more than the
   * required ones.
   */
  readonly isNameless?: (given: readonly string[]) => boolean;
}

/**
 * The agent's name and the arguments after it. The address of one sidecar has one agent: its name may be omitted, and
 * is then empty.
 * @throws DomainError `invalid`
 */
export function takeAgent(
  command: string,
  given: readonly string[],
  place: PlaceConfig,
  { must = [], may = [], isNameless = ({ length }) => length <= must.length }: OtherArguments = {},
): readonly [agent: string, ...others: readonly string[]] {
  if (namesOneAgent(place) && isNameless(given)) return ["", ...gtArguments(command, given, must, may)];
  const [agent = "", ...others] = gtArguments(command, given, ["agent", ...must], may);
  return [agent, ...others];
}

/** For a numeric argument: no agent's name is a number. */
export function isOneNumber([first, ...others]: readonly string[]): boolean {
  return first === undefined || (others.length === 0 && /^\d+$/.test(first));
}
