import { type CompletionContext, type Lists, type PlaceFlag, quoted } from "./completion-context.ts";

export function fishScript(program: string, places: readonly CompletionContext[], lists: Lists): string {
  const known = places.map(({ path }) => path).filter((path) => path !== "");
  const at = `__${program}_at`;
  const lines = places.flatMap((place) => linesOf({ program, at, known, lists }, place, places));
  return `# fish completion for ${program}
function ${at} --description 'whether the words so far are this command'
    set -l path
    for word in (commandline -opc)[2..-1]
        set -l next (string trim "$path $word")
        contains -- $next ${known.map(quoted).join(" ")}; or break
        set path $next
    end
    test "$path" = "$argv[1]"
end
complete -c ${program} -f
${lines.join("\n")}
`;
}

interface Script {
  readonly program: string;
  /** The shell function that tests whether the words so far are a given command. */
  readonly at: string;
  readonly known: readonly string[];
  readonly lists: Lists;
}

function linesOf(
  script: Script,
  { path, flags, argument }: CompletionContext,
  places: readonly CompletionContext[],
): readonly string[] {
  const start = `complete -c ${script.program} -n ${quoted(`${script.at} ${quoted(path)}`)}`;
  const below = (word: string) => `${path} ${word}`.trim();
  const isTable = typeof argument !== "string" && argument.some((word) => script.known.includes(below(word)));
  const words = isTable
    ? argument.map((word) => {
        const summary = places.find((one) => one.path === below(word))?.summary ?? "";
        return `${start} -a ${word} -d ${quoted(summary)}`;
      })
    : argument.length === 0
      ? []
      : [`${start} ${valuesOf(argument, script.lists)}`];
  return [...words, ...flags.map((flag) => `${start} ${flagOf(flag)}`)];
}

function flagOf({ name, short, takesValue, complete }: PlaceFlag): string {
  const flag = `-l ${name}${short === undefined ? "" : ` -s ${short}`}`;
  if (!takesValue) return flag;
  if (complete === undefined) return `${flag} -r`;
  return typeof complete === "string" ? `${flag} -r -F` : `${flag} -x ${valuesOf(complete, {})}`;
}

function valuesOf(words: string | readonly string[], lists: Lists): string {
  if (words === "file" || words === "folder") return "-F";
  return `-a ${quoted(typeof words === "string" ? `(${lists[words]} 2>/dev/null)` : words.join(" "))}`;
}
