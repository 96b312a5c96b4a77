import { DomainError } from "../../base/errors.ts";
import { bashScript } from "./bash-script.ts";
import type { Named } from "./command.ts";
import { completionContextOf, type Lists } from "./completion-context.ts";
import { fishScript } from "./fish-script.ts";
import { zshScript } from "./zsh-script.ts";

/**
 * The completion script for a shell. It runs the command lines in `lists` for words that only they can list.
 * @throws DomainError `invalid`
 */
export function completionScript(shell: string, program: string, all: readonly Named[], lists: Lists): string {
  const commands = all.flatMap(({ call }) => (/^\S+ \S+$/.test(call) ? [call.slice(program.length + 1)] : []));
  const places = all.map((named) => completionContextOf(program, named, commands));
  switch (shell) {
    case "bash":
      return bashScript(program, places, lists);
    case "zsh":
      return zshScript(program, places, lists);
    case "fish":
      return fishScript(program, places, lists);
    default:
      throw new DomainError("invalid", `no completion for ${JSON.stringify(shell)}`, {
        fields: { hint: "completion exists for bash, zsh and fish" },
      });
  }
}
