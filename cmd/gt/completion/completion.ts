import type { Command } from "../common/command/command.ts";

/** `gt completion`. `all` gives the commands that the script completes. */
export function completion(all: () => Promise<readonly Command[]>): Command {
  return {
    name: "completion",
    flags: {},
    help: {
      usage: "<shell>",
      summary: "completion for bash, zsh or fish",
      text: "Prints a completion script.",
      examples: [
        "source <(gt completion bash)",
        "gt completion zsh > ~/.zfunc/_gt    # with fpath=(~/.zfunc $fpath) before compinit in ~/.zshrc",
        "gt completion fish > ~/.config/fish/completions/gt.fish",
      ],
    },
    completion: ["bash", "zsh", "fish"],
    run: async (given, context) => (await import("./run-completion.ts")).runCompletion(given, await all(), context),
  };
}
