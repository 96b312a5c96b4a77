import type { Named } from "./command.ts";
import { helpText } from "./help-text.ts";
import { unknownCommand } from "./unknown-word.ts";

/** The help of the command that the words name. @throws DomainError `invalid` if they name none */
export async function helpOn(
  program: string,
  words: readonly string[],
  all: readonly Named[],
  columns: number,
): Promise<string> {
  let call = program;
  for (const word of words) {
    const known = all.filter((one) => one.call === `${call} ${one.node.name}`).map(({ node }) => node.name);
    if (!known.includes(word)) throw unknownCommand(call, word, known);
    call = `${call} ${word}`;
  }
  const found = all.find((one) => one.call === call);
  return found === undefined ? "" : await helpText(found, columns);
}
