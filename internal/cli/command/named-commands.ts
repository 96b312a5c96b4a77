import type { CommandNode, CommandTable, Named } from "./command.ts";

/** The command `name` below `of`; undefined if there is none. */
export async function namedBelow(of: Named, name: string): Promise<Named | undefined> {
  if (!Object.hasOwn(of.below, name)) return undefined;
  const node = await of.below[name]?.();
  return node && { call: `${of.call} ${name}`, node, below: node.commands ?? {} };
}

/** Loads the commands of a table. */
export function loaded(table: CommandTable): Promise<readonly CommandNode[]> {
  return Promise.all(Object.values(table).map((load) => load()));
}

/** `of` and all commands below it, at any depth. */
export async function withAllBelow(of: Named): Promise<readonly Named[]> {
  const below = await Promise.all(Object.keys(of.below).map((name) => namedBelow(of, name)));
  const all = await Promise.all(below.map((one) => (one === undefined ? [] : withAllBelow(one))));
  return [of, ...all.flat()];
}
