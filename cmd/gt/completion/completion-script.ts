import { DomainError } from "../../../internal/base/errors.ts";
import type { Command, CommandFlag } from "../common/command/command.ts";

interface Flag extends Pick<CommandFlag, "short" | "complete"> {
  readonly name: string;
  readonly takesValue: boolean;
}

/** The completion script for a shell. It asks `gt agents --quiet` for agents. @throws DomainError `invalid` */
export function completionScript(shell: string, commands: readonly Command[]): string {
  switch (shell) {
    case "bash":
      return bash(commands);
    case "zsh":
      return zsh(commands);
    case "fish":
      return fish(commands);
    default:
      throw new DomainError("invalid", `no completion for ${JSON.stringify(shell)}`, {
        fields: { hint: "completion exists for bash, zsh and fish" },
      });
  }
}

function flagsOf(command: Command): readonly Flag[] {
  const own = Object.entries(command.flags).map(([name, { type, short, complete }]) => ({
    name,
    takesValue: type !== "boolean",
    ...(short !== undefined && { short }),
    ...(complete !== undefined && { complete }),
  }));
  return [...own, { name: "help", short: "h", takesValue: false }];
}

function withAgent(commands: readonly Command[]): readonly string[] {
  return commands.filter((one) => one.completion === "agent").map((one) => one.name);
}

/** The words for the first argument of a command that does not take an agent. */
function argumentWords(command: Command, names: readonly string[]): readonly string[] {
  if (command.completion === "agent") return [];
  return command.completion === "command" ? names : command.completion;
}

function bash(commands: readonly Command[]): string {
  const names = commands.map((one) => one.name);
  const flags = commands.map((command) => {
    const words = flagsOf(command).map((flag) => `--${flag.name}`);
    return `    ${command.name}) flags="${words.join(" ")}" ;;`;
  });
  const words = commands
    .map((command) => [command.name, argumentWords(command, names).join(" ")] as const)
    .filter(([, known]) => known !== "")
    .map(([name, known]) => `    ${name}) COMPREPLY=($(compgen -W "${known}" -- "$cur")) ;;`);
  return `# bash completion for gt
_gt() {
  local cur prev command flags
  COMPREPLY=()
  cur="\${COMP_WORDS[COMP_CWORD]}"
  prev="\${COMP_WORDS[COMP_CWORD-1]}"
  command="\${COMP_WORDS[1]}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${names.join(" ")} --help --version" -- "$cur"))
    return
  fi
  case "$command $prev" in
${commands.flatMap(bashValues).join("\n")}
  esac
  case "$command" in
${flags.join("\n")}
    *) return ;;
  esac
  if [[ "$cur" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
    return
  fi
  case "$command" in
${words.join("\n")}
    ${withAgent(commands).join("|")})
      [ "$COMP_CWORD" -eq 2 ] && COMPREPLY=($(compgen -W "$(gt agents --quiet 2>/dev/null)" -- "$cur")) ;;
  esac
}
complete -F _gt gt
`;
}

/** The values of one command's flags. */
function bashValues(command: Command): readonly string[] {
  return flagsOf(command)
    .filter((flag) => flag.takesValue)
    .map(({ name, complete }) => {
      const pattern = `    "${command.name} --${name}")`;
      if (complete === undefined) return `${pattern} return ;;`;
      if (complete === "file") return `${pattern} COMPREPLY=($(compgen -f -- "$cur")); return ;;`;
      if (complete === "folder") return `${pattern} COMPREPLY=($(compgen -d -- "$cur")); return ;;`;
      return `${pattern} COMPREPLY=($(compgen -W "${complete.join(" ")}" -- "$cur")); return ;;`;
    });
}

function zsh(commands: readonly Command[]): string {
  const names = commands.map((one) => one.name);
  const cases = commands.map((command) => {
    const specs = flagsOf(command).map(
      (flag) => `      '--${flag.name}${flag.takesValue ? `=:${flag.name}:${zshValues(flag)}` : ""}'`,
    );
    const positional = zshArgument(command, names);
    return `    ${command.name}) _arguments -s \\\n${[...specs, ...positional].join(" \\\n")} ;;`;
  });
  return `#compdef gt
_gt_agents() {
  local -a agents
  agents=("\${(@f)$(gt agents --quiet 2>/dev/null)}")
  compadd -a agents
}
_gt() {
  if (( CURRENT == 2 )); then
    compadd ${names.join(" ")} --help --version
    return
  fi
  local command="\${words[2]}"
  shift words
  (( CURRENT-- ))
  case "$command" in
${cases.join("\n")}
  esac
}
_gt "$@"
`;
}

function zshValues({ complete }: Flag): string {
  if (complete === undefined) return " ";
  if (complete === "file") return "_files";
  return complete === "folder" ? "_files -/" : `(${complete.join(" ")})`;
}

function zshArgument(command: Command, names: readonly string[]): readonly string[] {
  if (command.completion === "agent") return ["      '1:agent:_gt_agents'"];
  const words = argumentWords(command, names);
  return words.length === 0 ? [] : [`      '1:argument:(${words.join(" ")})'`];
}

function fish(commands: readonly Command[]): string {
  const names = commands.map((one) => one.name);
  const lines = ["# fish completion for gt", "complete -c gt -f"];
  for (const command of commands) {
    lines.push(`complete -c gt -n __fish_use_subcommand -a ${command.name} -d '${command.help.summary}'`);
    const when = `-n '__fish_seen_subcommand_from ${command.name}'`;
    for (const flag of flagsOf(command)) lines.push(`complete -c gt ${when} ${fishFlag(flag)}`);
    const words = argumentWords(command, names);
    if (words.length > 0) lines.push(`complete -c gt ${when} -a '${words.join(" ")}'`);
  }
  const agents = withAgent(commands).join(" ");
  lines.push(`complete -c gt -n '__fish_seen_subcommand_from ${agents}' -a '(gt agents --quiet 2>/dev/null)'`);
  return `${lines.join("\n")}\n`;
}

function fishFlag({ name, short, takesValue, complete }: Flag): string {
  const flag = `-l ${name}${short === undefined ? "" : ` -s ${short}`}`;
  if (!takesValue) return flag;
  if (complete === undefined) return `${flag} -r`;
  return typeof complete === "string" ? `${flag} -r -F` : `${flag} -x -a '${complete.join(" ")}'`;
}
