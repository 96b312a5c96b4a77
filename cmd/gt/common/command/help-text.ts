import type { Command, CommandFlag, FlagSection } from "./command.ts";

const WIDTH = 110;

/** `gt NAME --help`, put together from the command alone. Nothing in it is interpolated. */
export function helpText({ name, flags, help }: Command): string {
  const { text, usage, sections = [], notes, examples } = help;
  const shared = new Set(sections.flatMap((section) => section.names));
  const own = Object.keys(flags).filter((flag) => !shared.has(flag));
  const call = ["gt", name, usage, own.length > 0 || shared.size > 0 ? "[flags]" : ""].filter(Boolean).join(" ");
  const blocks = [
    paragraphs(text),
    `Usage: ${call}`,
    flagLines(flags, own),
    ...sections.map((one) => sectionLines(flags, one)),
  ];
  const shown = examples.map((line) => `  ${line}`).join("\n");
  return `${[...blocks, paragraphs(notes ?? ""), `Examples:\n${shown}`].filter(Boolean).join("\n\n")}\n`;
}

function sectionLines(flags: Command["flags"], { heading, names }: FlagSection): string {
  return `${paragraphs(heading)}\n${flagLines(flags, names)}`;
}

function flagLines(flags: Command["flags"], names: readonly string[]): string {
  const rows = names.flatMap((name) => {
    const flag = flags[name];
    return flag === undefined ? [] : [{ left: leftOf(name, flag), help: flag.help }];
  });
  const width = Math.max(0, ...rows.map(({ left }) => left.length));
  return rows
    .flatMap(({ left, help }) => {
      const [first = "", ...more] = help.flatMap((line) => wrapped(line, WIDTH - width - 2));
      return [`${left.padEnd(width)}  ${first}`.trimEnd(), ...more.map((line) => `${" ".repeat(width)}  ${line}`)];
    })
    .join("\n");
}

/** Text in paragraphs, each broken into lines again. */
function paragraphs(text: string): string {
  return text
    .split("\n\n")
    .map((paragraph) => wrapped(paragraph, WIDTH).join("\n"))
    .join("\n\n");
}

function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

function leftOf(name: string, { short, value }: CommandFlag): string {
  return `  ${short === undefined ? "    " : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`;
}
