import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { build, type Plugin } from "esbuild";

/** The virtual module that imports the `quick` files with all their imports. */
const GATHERED = "gathered-parts";

/**
 * Makes the bundler gather the modules that the `quick` files (paths from `root`) need in few parts, instead of one
 * part for each set of commands that share modules: opening a part takes Node longer than reading it. All other files
 * load these parts too.
 */
export async function gatheredParts(root: string, quick: readonly string[]): Promise<Plugin> {
  const gathered = await importedBy(root, quick);
  const contents = quick.map((file) => `import ${JSON.stringify(join(root, file))};`).join("\n");
  return {
    name: GATHERED,
    setup: ({ onResolve, onLoad }) => {
      onResolve({ filter: new RegExp(`^${GATHERED}$`) }, () => ({ path: GATHERED, namespace: GATHERED }));
      onLoad({ filter: /.*/, namespace: GATHERED }, () => ({ contents, resolveDir: root }));
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const own = relative(root, path);
        if (own.startsWith("..") || own.startsWith("node_modules") || gathered.has(own)) return undefined;
        // Appended, so that the line numbers in the source map stay right.
        return { contents: `${readFileSync(path, "utf8")}\nimport "${GATHERED}";\n`, loader: "ts" };
      });
    },
  };
}

/** These files and all that they import statically, without those that they `import()`. */
async function importedBy(root: string, files: readonly string[]): Promise<ReadonlySet<string>> {
  const options = {
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    outdir: "/",
    write: false,
  } as const;
  const { metafile } = await build({ ...options, entryPoints: [...files], absWorkingDir: root, metafile: true });
  const seen = new Set<string>();
  const pending = [...files];
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    for (const { path, kind, external } of metafile.inputs[file]?.imports ?? [])
      if (kind === "import-statement" && external !== true) pending.push(path);
  }
  return seen;
}
