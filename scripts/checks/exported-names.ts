import type { SourceFile } from "./source-sizes.ts";

/** The sources whose exports other files see. Benchmarks, tests and examples export nothing to others. */
const SHARED = /^(cmd|internal|pkg|scripts|test\/support)\/(?!.*(\.test\.ts|\.d\.mts)$)/;
/** Variables are left out: `export let` is the state of a test bed, which each bed calls `clock` or `pane`. */
const DECLARED = /^export (?:abstract |async |declare )*(?:class|const|function\*?|interface|type) (\w+)(.*)/gm;
/** The value of a command is named after the word on the command line: `status` in every program that has it. */
const COMMAND = /^(?:: | = \(.*\): )(?:Command|CommandNode|Program)\b/;

/**
 * The exported names with more than one declaration, one sentence each. Each binary under `cmd` has names of its own:
 * none imports another, and its `readConfig` or `serve` means the same in each.
 */
export function repeatedNames(files: readonly SourceFile[]): readonly string[] {
  const declared = files.filter(({ path }) => SHARED.test(path)).flatMap(declarations);
  return [...Map.groupBy(declared, ({ name }) => name)]
    .map(([name, places]) => ({ name, paths: [...new Set(places.map(({ path }) => path))].sort() }))
    .filter(({ paths }) => paths.length > 1 && !areOfDifferentBinaries(paths))
    .map(({ name, paths }) => `${name} is exported by ${paths.join(", ")}: give each its own name`);
}

function declarations({ path, text }: SourceFile): readonly { readonly name: string; readonly path: string }[] {
  return [...text.matchAll(DECLARED)].flatMap(([, name = "", rest = ""]) =>
    COMMAND.test(rest) ? [] : [{ name, path }],
  );
}

function areOfDifferentBinaries(paths: readonly string[]): boolean {
  const binaries = paths.map((path) => /^cmd\/([^/]+)\//.exec(path)?.[1]);
  return binaries.every((binary) => binary !== undefined) && new Set(binaries).size === paths.length;
}
