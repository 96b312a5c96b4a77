import { DomainError } from "../../../../internal/base/errors.ts";
import { nearestName } from "../../../../internal/cli/nearest-name.ts";

/** There is no such command; the hint is the one that was probably meant. */
export function unknownCommand(name: string, known: readonly string[]): DomainError {
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? "gt help lists the commands" : `did you mean gt ${nearest}?`;
  return new DomainError("invalid", `unknown command ${JSON.stringify(name)}`, { fields: { hint } });
}
