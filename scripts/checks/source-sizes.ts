import { basename, dirname } from "node:path";

/** A source file of this repository that is not generated. */
export interface SourceFile {
  /** The path from the root of the repository. */
  readonly path: string;
  readonly text: string;
}

/**
 * The limits of a folder that one person can keep in mind; a larger one must be split. Tests do not count; the code
 * that supports them does.
 */
const ROOM_FILES = 25;
const ROOM_LINES = 3000;
const FILE_LINES = 350;
const MEDIAN_LINES = 80;
const COMMENT_COLUMNS = 120;

/** The files and folders that exceed a limit, one sentence each. */
export function oversized(files: readonly SourceFile[]): readonly string[] {
  const sources = files.filter(({ path }) => !path.endsWith(".test.ts"));
  const median = medianOf(sources.map(linesOf));
  return [
    ...files
      .filter((file) => linesOf(file) > FILE_LINES)
      .map((file) => say(file.path, linesOf(file), "lines", FILE_LINES)),
    ...files.flatMap(longComments),
    ...[...Map.groupBy(sources, ({ path }) => dirname(path))].flatMap(([room, inside]) => oversizedRoom(room, inside)),
    ...(median > MEDIAN_LINES ? [say("the median of the source files", median, "lines", MEDIAN_LINES)] : []),
  ];
}

function oversizedRoom(room: string, files: readonly SourceFile[]): readonly string[] {
  const lines = files.reduce((sum, file) => sum + linesOf(file), 0);
  return [
    ...(files.length > ROOM_FILES ? [say(`${room}/`, files.length, "source files", ROOM_FILES)] : []),
    ...(lines > ROOM_LINES ? [say(`${room}/`, lines, "lines of source", ROOM_LINES)] : []),
  ];
}

/** The comments that are too wide: the formatter wraps code, but not comments. */
function longComments({ path, text }: SourceFile): readonly string[] {
  return text.split("\n").flatMap((line, index) => {
    const isLong = [...line].length > COMMENT_COLUMNS && /^\s*(\/\/|\/\*|\* )/.test(line);
    return isLong ? [say(`${path}:${index + 1}`, [...line].length, "columns of comment", COMMENT_COLUMNS)] : [];
  });
}

/**
 * The files whose name does not match their class. A file whose only exported value is a class must be named after the
 * class, in whole or in part, as `session-log.ts` is named after `SessionLog`.
 */
export function misnamed(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap(({ path, text }) => {
    const values = [...text.matchAll(/^export (?:abstract |async )?(class|const|function|let) (\w+)/gm)];
    const [[, kind, name = ""] = []] = values;
    if (values.length !== 1 || kind !== "class") return [];
    const [file, expected] = [basename(path, ".ts"), kebab(name)];
    return file.includes(expected) || expected.includes(file)
      ? []
      : [`${path} has the class ${name} alone: ${expected}.ts`];
  });
}

/** A comment line that begins with a word in place of a noun: "What a session holds" instead of "A session's data". */
const OPENER = /^\s*(?:\/\/|\/\*\*?|\*) (What|Of|Who|Whose|Whoever)\b/;

/** The lines of comments that open without a subject, one sentence each. */
export function danglingOpeners(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, index) => {
      const [, word] = OPENER.exec(line) ?? [];
      return word === undefined ? [] : [`${path}:${index + 1} opens with "${word}": name the thing`];
    }),
  );
}

function kebab(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, "-").toLowerCase();
}

function say(what: string, is: number, unit: string, limit: number): string {
  return `${what} has ${is} ${unit}; at most ${limit}`;
}

function linesOf({ text }: SourceFile): number {
  return text.split("\n").length - 1;
}

function medianOf(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}
