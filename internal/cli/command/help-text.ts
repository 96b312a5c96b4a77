import {
  type CommandFlag,
  type CommandFlags,
  type CommandNode,
  type FlagSection,
  isCommand,
  type Named,
} from "./command.ts";
import { type HelpRow, inColumns, paragraphs } from "./help-layout.ts";
import { loaded } from "./named-commands.ts";

/** The text of `--help`, derived from the command, in lines of up to `columns` characters, at most 110. */
export async function helpText(of: Named, columns = 80): Promise<string> {
  const { node } = of;
  const width = Math.min(columns, 110);
  const { text, sections = [], notes = "", examples } = node.help;
  const flags = isCommand(node) ? node.flags : {};
  const inSections = new Set(sections.flatMap((section) => section.names));
  const own = Object.keys(flags).filter((flag) => !inSections.has(flag));
  const blocks = [
    paragraphs(text, width),
    await usageText(of, width),
    flagLines(flags, own, width),
    ...sections.map((section) => sectionLines(flags, section, width)),
    paragraphs(notes, width),
    exampleLines(examples, width),
  ];
  return `${blocks.filter(Boolean).join("\n\n")}\n`;
}

async function usageText({ call, node, below }: Named, width: number): Promise<string> {
  const others = (await loaded(below)).map((one) => row(`${call} ${one.name}`, one));
  if (others.length > 0)
    return `Usage:\n${inColumns([...(isCommand(node) ? [row(call, node)] : []), ...others], width, 3)}`;
  const flags = isCommand(node) && Object.keys(node.flags).length > 0 ? " [flags]" : "";
  return paragraphs(`Usage: ${callOf(call, node)}${flags}`, width);
}

function row(call: string, node: CommandNode): HelpRow {
  return { left: `  ${callOf(call, node)}`, right: node.help.summary };
}

function callOf(call: string, node: CommandNode): string {
  return `${call} ${isCommand(node) ? node.help.usage : "<command>"}`.trimEnd();
}

function sectionLines(flags: CommandFlags, { heading, names }: FlagSection, width: number): string {
  return `${paragraphs(heading, width)}\n${flagLines(flags, names, width)}`;
}

function flagLines(flags: CommandFlags, names: readonly string[], width: number): string {
  const rows = names.flatMap((name) => {
    const flag = flags[name];
    return flag === undefined ? [] : [{ left: leftOf(name, flag), right: meaningOf(flag) }];
  });
  return inColumns(rows, width, 2);
}

function leftOf(name: string, { short, value }: CommandFlag): string {
  return `  ${short === undefined ? "    " : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`;
}

function meaningOf({ help, env }: CommandFlag): string {
  return env === undefined ? help : `${help} [${env}]`;
}

/** Lines stay whole, for people to copy. A comment that does not fit is put above its line. */
function exampleLines(examples: readonly string[], width: number): string {
  const lines = examples.flatMap((example) => {
    const [command = "", comment] = example.split(/\s{2,}(?=# )/);
    return (comment === undefined || example.length + 2 <= width ? example : `${comment}\n${command}`).split("\n");
  });
  return `${examples.length === 1 ? "Example" : "Examples"}:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}
