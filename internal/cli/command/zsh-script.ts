import { type CompletionContext, type Lists, quoted } from "./completion-context.ts";

export function zshScript(program: string, places: readonly CompletionContext[], lists: Lists): string {
  const known = places.map(({ path }) => path).filter((path) => path !== "");
  const functions = Object.entries(lists).map(
    ([name, line]) => `_${program}_${name}() {
  local -a words
  words=("\${(@f)$(${line} 2>/dev/null)}")
  compadd -a words
}
`,
  );
  return `#compdef ${program}
${functions.join("")}_${program}() {
  local at="" next i=2
  while (( i < CURRENT )); do
    next="$at\${at:+ }\${words[i]}"
    case "$next" in
      (${known.map(quoted).join("|")}) at="$next" ;;
      (*) break ;;
    esac
    (( i++ ))
  done
  shift $(( i - 2 )) words
  (( CURRENT -= i - 2 ))
  case "$at" in
${places.map((place) => argumentsOf(program, place)).join("\n")}
  esac
}
_${program} "$@"
`;
}

function argumentsOf(program: string, { path, flags, argument }: CompletionContext): string {
  const specs = flags.map(
    ({ name, takesValue, complete }) =>
      `      '--${name}${takesValue ? `=:${name}:${actionOf(program, complete)}` : ""}'`,
  );
  const what = typeof argument === "string" ? argument : "argument";
  const first = argument.length === 0 ? [] : [`      '1:${what}:${actionOf(program, argument)}'`];
  return `    (${quoted(path)}) _arguments -s \\\n${[...specs, ...first].join(" \\\n")} ;;`;
}

function actionOf(program: string, words: string | readonly string[] | undefined): string {
  if (words === undefined) return " ";
  if (words === "file") return "_files";
  if (words === "folder") return "_files -/";
  return typeof words === "string" ? `_${program}_${words}` : `(${words.join(" ")})`;
}
