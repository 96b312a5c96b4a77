import type { SourceFile } from "./source-sizes.ts";

/** The source files whose exports other files can import. Benchmarks, tests and examples export nothing to others. */
const SHARED = /^(cmd|internal|pkg|scripts|test\/support)\/(?!.*(\.test\.ts|\.d\.mts)$)/;
/**
 * Variables are left out: `export let` is the state of a test bed, and each test bed calls its state `clock` or `pane`.
 */
const DECLARED = /^export (?:abstract |async |declare )*(?:class|const|function\*?|interface|type) (\w+)(.*)/gm;
/**
 * Commands are left out: each is named after its word on the command line, so every program with a command `status`
 * exports `status`.
 */
const COMMAND = /^(?:: | = \(.*\): )(?:Command|CommandNode|Program)\b/;

/**
 * The exported names with more than one declaration, one sentence each. Different binaries under `cmd` may use the same
 * name: none imports another, and `readConfig` or `serve` means the same in each.
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
