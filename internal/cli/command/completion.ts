import type { Command, Named, Program } from "./command.ts";

/** `PROGRAM completion`. `all` returns the commands to complete. */
export function completion({ name, lists = {} }: Program, all: () => Promise<readonly Named[]>): Command {
  return {
    name: "completion",
    flags: {},
    help: {
      usage: "<shell>",
      summary: "completion for bash, zsh or fish",
      text: "Prints a completion script.",
      examples: [
        `source <(${name} completion bash)`,
        `${name} completion zsh > ~/.zfunc/_${name}  # with fpath=(~/.zfunc $fpath) before compinit in ~/.zshrc`,
        `${name} completion fish > ~/.config/fish/completions/${name}.fish`,
      ],
    },
    completion: ["bash", "zsh", "fish"],
    run: async ({ positionals }, { out }) => {
      const { takeArguments } = await import("./arguments.ts");
      const [shell = ""] = takeArguments(`${name} completion`, positionals, ["shell"]);
      const { completionScript } = await import("./completion-script.ts");
      out.plain(completionScript(shell, name, await all(), lists));
      return 0;
    },
  };
}
