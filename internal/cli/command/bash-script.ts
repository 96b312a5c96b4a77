import { type CompletionContext, type Lists, type PlaceFlag, quoted } from "./completion-context.ts";

export function bashScript(program: string, places: readonly CompletionContext[], lists: Lists): string {
  const known = places.map(({ path }) => path).filter((path) => path !== "");
  return `# bash completion for ${program}
_${nameOf(program)}() {
  local cur prev at="" next flags i
  COMPREPLY=()
  cur="\${COMP_WORDS[COMP_CWORD]}"
  prev="\${COMP_WORDS[COMP_CWORD-1]}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="$at\${at:+ }\${COMP_WORDS[i]}"
    case "$next" in
      ${known.map(quoted).join("|")}) at="$next" ;;
      *) break ;;
    esac
  done
  case "$at $prev" in
${places.flatMap((place) => valuesOf(place)).join("\n")}
  esac
  case "$at" in
${places.map(({ path, flags }) => `    ${quoted(path)}) flags="${flags.map(({ name }) => `--${name}`).join(" ")}" ;;`).join("\n")}
  esac
  if [[ "$cur" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
    return
  fi
  [ "$i" -eq "$COMP_CWORD" ] || return
  case "$at" in
${places.flatMap((place) => argumentOf(place, lists)).join("\n")}
  esac
}
complete -F _${nameOf(program)} ${program}
`;
}

function nameOf(program: string): string {
  return program.replaceAll("-", "_");
}

/** Lines of the script for the values of a command's flags. */
function valuesOf({ path, flags }: CompletionContext): readonly string[] {
  return flags
    .filter((flag) => flag.takesValue)
    .flatMap(({ name, short, complete }) => [
      valueLine(`${path} --${name}`, complete),
      ...(short === undefined ? [] : [valueLine(`${path} -${short}`, complete)]),
    ]);
}

function valueLine(before: string, complete: PlaceFlag["complete"]): string {
  const words = complete === undefined ? "" : `${wordsOf(complete, {})}; `;
  return `    ${quoted(before)}) ${words}return ;;`;
}

function argumentOf({ path, argument, flags }: CompletionContext, lists: Lists): readonly string[] {
  const isRoot = path === "" && typeof argument !== "string";
  const words = isRoot ? [...argument, ...flags.map(({ name }) => `--${name}`)] : argument;
  return words.length === 0 ? [] : [`    ${quoted(path)}) ${wordsOf(words, lists)} ;;`];
}

function wordsOf(words: string | readonly string[], lists: Lists): string {
  if (words === "file") return 'COMPREPLY=($(compgen -f -- "$cur"))';
  if (words === "folder") return 'COMPREPLY=($(compgen -d -- "$cur"))';
  const list = typeof words === "string" ? `$(${lists[words]} 2>/dev/null)` : words.join(" ");
  return `COMPREPLY=($(compgen -W "${list}" -- "$cur"))`;
}
