import { DomainError } from "../../base/errors.ts";

/**
 * The reason why nothing was typed. `refused`: the pane is dead or has its input turned off; `synchronized`: the text
 * would reach the other panes of its window too.
 */
export type NotTyped = "refused" | "synchronized";

const REASONS: Readonly<Record<NotTyped, string>> = {
  refused: "the agent's terminal accepts no input",
  synchronized: "tmux's option synchronize-panes is on, so the other panes of the window would get the same keys",
};

/** The reason in words, for a person. */
export function whyNotTyped(answer: NotTyped): string {
  return REASONS[answer];
}

/** The error, of kind `precondition`, for keys that were not pressed. */
export function keysRefused(answer: NotTyped): DomainError {
  const hint = { fields: { hint: "tmux set-option -w synchronize-panes off, in that window" } };
  return new DomainError(
    "precondition",
    `cannot press keys: ${answer === "refused" ? "the agent is dead" : whyNotTyped(answer)}`,
    answer === "synchronized" ? hint : {},
  );
}
