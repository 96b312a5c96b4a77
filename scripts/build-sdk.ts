// Makes pkg/bridgeclient/dist: the SDK as JavaScript in one file, and its type declarations. Both need only the
// packages that package.json names: code that the SDK uses from internal/ is bundled.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build, stop } from "esbuild";
import ts from "typescript";
import { packDescriptors } from "./pack-descriptors.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const packageFolder = join(root, "pkg/bridgeclient");
const entry = join(packageFolder, "index.ts");

/** Builds the SDK; returns its folder. */
export async function buildSdk(): Promise<string> {
  const outDir = join(packageFolder, "dist");
  rmSync(outDir, { recursive: true, force: true });
  mkdirSync(outDir);
  await build({
    entryPoints: [entry],
    outfile: join(outDir, "index.js"),
    bundle: true,
    platform: "node",
    target: "node22",
    format: "esm",
    external: ["@bufbuild/*", "@connectrpc/*"],
    plugins: [packDescriptors],
    logLevel: "warning",
    absWorkingDir: root,
  });
  await stop(); // otherwise a process of the bundler keeps running for the next build
  for (const [path, text] of declarations()) {
    mkdirSync(dirname(join(outDir, path)), { recursive: true });
    writeFileSync(join(outDir, path), text);
  }
  copyFileSync(join(root, "LICENSE"), join(outDir, "LICENSE"));
  return outDir;
}

/** The declarations that the entry needs, by their paths in the package. */
function declarations(): ReadonlyMap<string, string> {
  const emitted = emitDeclarations();
  const reached = new Map<string, string>();
  const pending = [entry];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    const source = emitted.get(path);
    if (source === undefined) throw new Error(`no declarations of ${path}`);
    const text = withoutUnusedImports(source);
    const place = placeOf(path);
    if (reached.has(place)) continue;
    const isOwn = (specifier: string) => specifier.startsWith(".");
    const rewritten = text.replaceAll(/(from |import\()"([^"]+)"/g, (whole, before: string, specifier: string) => {
      if (!isOwn(specifier)) return whole;
      const target = resolve(dirname(path), specifier);
      pending.push(target);
      const from = relative(dirname(place), placeOf(target)).replace(/\.d\.ts$/, ".js");
      return `${before}"${from.startsWith(".") ? from : `./${from}`}"`;
    });
    reached.set(place, rewritten);
  }
  return reached;
}

/**
 * Removes the imports of declarations that are not part of the API; they would pull in the declarations of whole
 * libraries.
 */
function withoutUnusedImports(text: string): string {
  return text.replaceAll(/^import (?:type )?\{([^}]+)\} from "[^"]+";\n/gm, (line, list: string, at: number) => {
    const rest = text.slice(0, at) + text.slice(at + line.length);
    const names = list.split(",").map((name) => name.replace(/^.* as |^\s*type /, "").trim());
    return names.some((name) => new RegExp(`\\b${name}\\b`).test(rest)) ? line : "";
  });
}

/** The path of a declaration in dist: the package's own files are at the top, others under their own paths. */
function placeOf(source: string): string {
  const inside = relative(packageFolder, source);
  return (inside.startsWith("..") ? relative(root, source) : inside).replace(/\.ts$/, ".d.ts");
}

/** The emitted declarations by their source's path. */
function emitDeclarations(): ReadonlyMap<string, string> {
  const config = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config.config, include: [], files: [entry] }, ts.sys, root);
  const asked = { declaration: true, emitDeclarationOnly: true, noEmit: false, stripInternal: true, rootDir: root };
  const program = ts.createProgram([entry], { ...options, ...asked });
  const emitted = new Map<string, string>();
  program.emit(undefined, (_path, text, _mark, _onError, sources) => {
    for (const { fileName } of sources ?? []) emitted.set(resolve(fileName), text);
  });
  return emitted;
}

if (import.meta.main) console.log(await buildSdk());
