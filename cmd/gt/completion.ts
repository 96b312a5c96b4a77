import { DomainError } from "../../internal/base/errors.ts";
import { COMMAND_FLAGS, COMMANDS, type CommandName } from "./flags.ts";

const WITH_AGENT: readonly CommandName[] = ["peek", "nudge", "respond", "status", "watch", "attach"];
const FOLDERS = ["tls-dir"];
const FILES = ["ca", "cert", "key"];
const VALUES: Readonly<Record<string, readonly string[]>> = {
  mode: ["wait-idle", "immediate", "queue"],
  priority: ["normal", "urgent"],
  "agent-profile": ["claude", "codex", "opencode", "demo", "generic"],
};

interface Flag {
  readonly name: string;
  readonly short: string | undefined;
  readonly takesValue: boolean;
}

/** The completion script for a shell. Agents are asked for with `gt agents --quiet`. @throws DomainError `invalid`. */
export function completionScript(shell: string): string {
  switch (shell) {
    case "bash":
      return bash();
    case "zsh":
      return zsh();
    case "fish":
      return fish();
    default:
      throw new DomainError("invalid", `no completion for ${JSON.stringify(shell)}`, {
        fields: { hint: "there is one for bash, zsh and fish" },
      });
  }
}

function flagsOf(command: CommandName): readonly Flag[] {
  const specs: Readonly<Record<string, { readonly type: string; readonly short?: string }>> = COMMAND_FLAGS[command];
  const own = Object.entries(specs).map(([name, spec]) => ({
    name,
    short: spec.short,
    takesValue: spec.type !== "boolean",
  }));
  return [...own, { name: "help", short: "h", takesValue: false }];
}

function bash(): string {
  const flags = COMMANDS.map((command) => {
    const words = flagsOf(command).map((flag) => `--${flag.name}`);
    return `    ${command}) flags="${words.join(" ")}" ;;`;
  });
  const values = Object.entries(VALUES).map(
    ([name, words]) => `    --${name}) COMPREPLY=($(compgen -W "${words.join(" ")}" -- "$cur")); return ;;`,
  );
  const taking = [
    ...new Set(
      COMMANDS.flatMap((command) => flagsOf(command).filter((flag) => flag.takesValue)).map((flag) => flag.name),
    ),
  ];
  const files = [...FILES.map((name) => `--${name}`)].join("|");
  const folders = FOLDERS.map((name) => `--${name}`).join("|");
  const others = taking.filter((name) => !(name in VALUES) && !FILES.includes(name) && !FOLDERS.includes(name));
  return `# bash completion for gt
_gt() {
  local cur prev command flags
  COMPREPLY=()
  cur="\${COMP_WORDS[COMP_CWORD]}"
  prev="\${COMP_WORDS[COMP_CWORD-1]}"
  command="\${COMP_WORDS[1]}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${COMMANDS.join(" ")} --help --version" -- "$cur"))
    return
  fi
  case "$prev" in
${values.join("\n")}
    ${files}) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    ${folders}) COMPREPLY=($(compgen -d -- "$cur")); return ;;
    ${others.map((name) => `--${name}`).join("|")}) return ;;
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
    completion) COMPREPLY=($(compgen -W "bash zsh fish" -- "$cur")) ;;
    help) COMPREPLY=($(compgen -W "${COMMANDS.join(" ")}" -- "$cur")) ;;
    ${WITH_AGENT.join("|")})
      [ "$COMP_CWORD" -eq 2 ] && COMPREPLY=($(compgen -W "$(gt agents --quiet 2>/dev/null)" -- "$cur")) ;;
  esac
}
complete -F _gt gt
`;
}

function zsh(): string {
  const cases = COMMANDS.map((command) => {
    const specs = flagsOf(command).map(
      (flag) => `      '--${flag.name}${flag.takesValue ? `=:${flag.name}:${zshValues(flag.name)}` : ""}'`,
    );
    const positional = zshPositional(command);
    return `    ${command}) _arguments -s \\\n${[...specs, ...positional].join(" \\\n")} ;;`;
  });
  return `#compdef gt
_gt_agents() {
  local -a agents
  agents=("\${(@f)$(gt agents --quiet 2>/dev/null)}")
  compadd -a agents
}
_gt() {
  if (( CURRENT == 2 )); then
    compadd ${COMMANDS.join(" ")} --help --version
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

function zshValues(name: string): string {
  const known = VALUES[name];
  if (known !== undefined) return `(${known.join(" ")})`;
  if (FILES.includes(name)) return "_files";
  return FOLDERS.includes(name) ? "_files -/" : " ";
}

function zshPositional(command: CommandName): readonly string[] {
  if (WITH_AGENT.includes(command)) return ["      '1:agent:_gt_agents'"];
  if (command === "completion") return ["      '1:shell:(bash zsh fish)'"];
  return command === "help" ? [`      '1:command:(${COMMANDS.join(" ")})'`] : [];
}

function fish(): string {
  const lines = ["# fish completion for gt", "complete -c gt -f"];
  for (const command of COMMANDS) {
    lines.push(`complete -c gt -n __fish_use_subcommand -a ${command}`);
    const when = `-n '__fish_seen_subcommand_from ${command}'`;
    for (const flag of flagsOf(command)) {
      const short = flag.short === undefined ? "" : ` -s ${flag.short}`;
      const known = VALUES[flag.name];
      const value = !flag.takesValue ? "" : known === undefined ? " -r" : ` -x -a '${known.join(" ")}'`;
      const paths = FILES.includes(flag.name) || FOLDERS.includes(flag.name) ? " -F" : "";
      lines.push(`complete -c gt ${when} -l ${flag.name}${short}${value}${paths}`);
    }
  }
  lines.push(
    `complete -c gt -n '__fish_seen_subcommand_from ${WITH_AGENT.join(" ")}' -a '(gt agents --quiet 2>/dev/null)'`,
  );
  lines.push("complete -c gt -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'");
  return `${lines.join("\n")}\n`;
}
