// Bundles each binary into dist/<binary>.mjs, for images and packages. Arguments name the binaries; without them it
// builds all, and the SDK (build-sdk.ts). A bundle starts in less than half the time that the sources take. The bundles
// of gt and gt-sidecar contain what every start needs; code for one command or one half is in parts beside them, in
// dist/gt and dist/gt-sidecar. Modules that cannot be bundled are in dist/node_modules, where Node looks for them.
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Plugin, stop } from "esbuild";
import { buildSdk } from "./build-sdk.ts";
import { gatheredParts } from "./gathered-parts.ts";
import { thirdPartyNotices } from "./third-party-notices.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** CommonJS packages load Node's own modules by `require`. */
const REQUIRE =
  'import { createRequire as gtCreateRequire } from "node:module"; const require = gtCreateRequire(import.meta.url);';

/** The oldest Node that runs the bundles. */
const NODE_MAJOR = 24;

/**
 * The first statement of a binary: an older Node would fail later, in the middle of a call and as if by a bug.
 * @internal
 */
export const nodeCheck = (binary: string): string =>
  `if (Number.parseInt(process.versions.node) < ${NODE_MAJOR}) { console.error("${binary}: error: this is Node " + process.version + ", and ${NODE_MAJOR} or newer is needed"); process.exit(1); } `;

/** A package with machine code. Only gt-sidecar loads it, and only as a container's first process. */
const NATIVE = "koffi";

/**
 * Binaries that are bundled in parts, each of which is loaded when it is needed: gt runs one short command, and each
 * half of gt-sidecar needs only its own code. The modules that the listed files need are gathered in few parts. main.ts
 * must not be listed: a command could not load a part that contains it, because main.ts awaits the whole run.
 */
const SPLIT: Readonly<Record<string, readonly string[]>> = {
  gt: [
    ...["internal/cli/run-main.ts", "internal/cli/flags.ts", "cmd/gt/commands.ts"],
    ...["internal/cli/command/run-program.ts", "cmd/gt/peek/peek.ts", "cmd/gt/peek/run-peek.ts"],
  ],
  "gt-sidecar": [],
  desk: [],
};

/**
 * Node evaluates every lazy property of a module that is imported, WebSocket and WebCrypto among them, and these
 * properties take longer to load than all of gt. `lazyModules` leaves them unevaluated.
 */
const LAZY = ["crypto", "http", "https"];

/**
 * In a single file, all imports of Node's own modules run at the start, even those of code that is loaded on demand.
 * `lazyModules` delays the slow ones until that code runs.
 */
const LAZY_IN_ONE = [...LAZY, "child_process", "dns", "http2", "net", "readline", "stream", "tls", "zlib"];

/** Modules of which an older Node lacks exports that are imported by name: it must come as far as `nodeCheck`. */
const GROWN = ["fs/promises", "util"];

const lazyModules = (names: readonly string[]): Plugin => ({
  name: "lazy-modules",
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: new RegExp(`^(node:)?(${names.join("|")})$`) }, ({ path }) => ({
      path,
      namespace: "lazy-modules",
    }));
    onLoad({ filter: /.*/, namespace: "lazy-modules" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
});

/** Bundles `cmd/<binary>/main.ts`; returns the bundle's path. */
export async function buildBinary(binary: string, outDir: string): Promise<string> {
  return (await bundle(binary, outDir)).outfile;
}

/** Bundles a binary; `inputs` are its source files, as paths from the repository's top. */
async function bundle(binary: string, outDir: string) {
  const outfile = `${outDir}/${binary}.mjs`;
  rmSync(`${outDir}/${binary}`, { recursive: true, force: true });
  const quick = SPLIT[binary];
  const { metafile } = await build({
    ...(quick === undefined ? { plugins: [lazyModules([...LAZY_IN_ONE, ...GROWN])] } : await inParts(binary, quick)),
    entryPoints: { [binary]: `${root}cmd/${binary}/main.ts` },
    outdir: outDir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    target: `node${NODE_MAJOR}`,
    format: "esm",
    minifySyntax: true,
    sourcemap: "linked",
    external: [NATIVE],
    banner: { js: `${nodeCheck(binary)}${REQUIRE}` },
    logLevel: "warning",
    absWorkingDir: root,
    metafile: true,
  });
  for (const file of quick === undefined ? [] : globSync(`${outDir}/{${binary},${binary}/*}.mjs`))
    trimBanner(file, file === outfile ? "" : nodeCheck(binary));
  await stop(); // otherwise a process of the bundler keeps running for the next build
  return { outfile, inputs: Object.keys(metafile.inputs) };
}

async function inParts(binary: string, quick: readonly string[]): Promise<BuildOptions> {
  const plugins = quick.length === 0 ? [lazyModules(LAZY)] : [lazyModules(LAZY), await gatheredParts(root, quick)];
  return { splitting: true, chunkNames: `${binary}/[name]-[hash]`, plugins };
}

/**
 * Drops `unneeded` from the first line, and REQUIRE where the code has no use for it: creating `require` takes time.
 * The line stays, because the source map counts it.
 */
function trimBanner(file: string, unneeded: string): void {
  const text = readFileSync(file, "utf8").replace(unneeded, "");
  const code = text.replace(REQUIRE, "");
  writeFileSync(file, /\brequire\b/.test(code) ? text : code);
}

/**
 * Copies the runtime files of the native package, for this machine's system, to the folder where `dist/*.mjs` finds
 * them.
 */
function copyNative(outDir: string): void {
  const parts = [`${NATIVE}/{package.json,LICENSE.txt,index.js}`, `${NATIVE}/src/**/*.js`, "@koromix/*"];
  for (const part of globSync(parts, { cwd: `${root}node_modules` })) {
    cpSync(`${root}node_modules/${part}`, `${outDir}/node_modules/${part}`, { recursive: true, dereference: true });
  }
}

/** Bundles binaries and places the native package and the packages' licences beside them. */
export async function buildBinaries(binaries: readonly string[], outDir: string): Promise<readonly string[]> {
  const inputs = new Set([`node_modules/${NATIVE}/index.js`]);
  const outfiles: string[] = [];
  for (const name of binaries) {
    const made = await bundle(name, outDir);
    for (const path of made.inputs) inputs.add(path);
    outfiles.push(made.outfile);
  }
  copyNative(outDir);
  writeFileSync(`${outDir}/THIRD-PARTY-NOTICES`, thirdPartyNotices(root, inputs));
  return outfiles;
}

if (import.meta.main) {
  const named = process.argv.slice(2);
  const all = () => globSync("cmd/*/main.ts", { cwd: root }).map((main) => basename(dirname(main)));
  for (const outfile of await buildBinaries(named.length > 0 ? named : all().sort(), `${root}dist`)) {
    console.log(outfile);
  }
  if (named.length === 0) console.log(await buildSdk());
}
