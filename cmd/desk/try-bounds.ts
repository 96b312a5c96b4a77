import { printable } from "../../internal/base/printable-text.ts";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { assertClosed } from "../../internal/desk/launch/probe.ts";
import type { OpenFront } from "./open-front.ts";

/**
 * Tries every way out of the front's bounds, as each start does; with isolation `none` the open ones are printed.
 * @throws DomainError `unavailable` naming the ways that are open
 */
export async function tryBounds(front: OpenFront, { err, signal }: CommandContext): Promise<void> {
  const ways = await front.probe(signal);
  if (front.isolation !== "none") return assertClosed(ways);
  err.line(printable`desk: warning: --isolation none: the following is not confined`);
  for (const { name, isOpen } of ways)
    if (isOpen) err.line(printable`desk: warning: the customer's side reaches ${name}`);
}
