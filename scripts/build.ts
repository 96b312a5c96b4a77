// Bundles each binary into dist/<binary>.mjs, for images and packages. Arguments name the binaries; none: all, and the
// SDK. A bundle starts in less than half of the sources' time. Those of gt and gt-sidecar hold what every start needs;
// what one command or one half needs is in parts beside it, in dist/gt and dist/gt-sidecar. What cannot be bundled is
// in dist/node_modules, where Node looks for it. The SDK: build-sdk.ts.
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Plugin, stop } from "esbuild";
import { buildSdk } from "./build-sdk.ts";
import { gatheredParts } from "./gathered-parts.ts";
import { thirdPartyNotices } from "./third-party-notices.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Packages that are CommonJS ask for Node's own modules by `require`. */
const REQUIRE =
  'import { createRequire as gtCreateRequire } from "node:module"; const require = gtCreateRequire(import.meta.url);';

/** Holds machine code. Loaded by gt-sidecar only, and only where it is a container's first process. */
const NATIVE = "koffi";

/**
 * Binaries in parts, each of which is read when it is needed: gt runs one short command, and each half of gt-sidecar
 * only its own code. What the files listed here need is in few parts. Not main.ts: a part that waits for the whole run
 * could be loaded by none of its commands.
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
 * Node runs all lazy parts of a module that is imported, WebSocket and WebCrypto among them, and those take longer to
 * load than all of gt. Asked for this way they stay unread.
 */
const lazyModules: Plugin = {
  name: "lazy-modules",
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^(node:)?(https?|crypto)$/ }, ({ path }) => ({ path, namespace: "lazy-modules" }));
    onLoad({ filter: /.*/, namespace: "lazy-modules" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

/** Bundles `cmd/<binary>/main.ts`; answers with the file. */
export async function buildBinary(binary: string, outDir: string): Promise<string> {
  return (await bundle(binary, outDir)).outfile;
}

/** Bundles a binary; `inputs` are the files that went into it, as paths from the repository's top. */
async function bundle(binary: string, outDir: string) {
  const outfile = `${outDir}/${binary}.mjs`;
  rmSync(`${outDir}/${binary}`, { recursive: true, force: true });
  const quick = SPLIT[binary];
  const { metafile } = await build({
    ...(quick === undefined ? {} : await inParts(binary, quick)),
    entryPoints: { [binary]: `${root}cmd/${binary}/main.ts` },
    outdir: outDir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    target: "node24",
    format: "esm",
    minifySyntax: true,
    sourcemap: "linked",
    external: [NATIVE],
    banner: { js: REQUIRE },
    logLevel: "warning",
    absWorkingDir: root,
    metafile: true,
  });
  for (const file of quick === undefined ? [] : globSync(`${outDir}/{${binary},${binary}/*}.mjs`))
    dropUnusedRequire(file);
  await stop(); // else a process of the bundler stays for the next build
  return { outfile, inputs: Object.keys(metafile.inputs) };
}

async function inParts(binary: string, quick: readonly string[]): Promise<BuildOptions> {
  const plugins = quick.length === 0 ? [] : [lazyModules, await gatheredParts(root, quick)];
  return { splitting: true, chunkNames: `${binary}/[name]-[hash]`, plugins };
}

/** Most parts ask for nothing by `require`, and making one takes its time. The line stays: the source map counts it. */
function dropUnusedRequire(file: string): void {
  const text = readFileSync(file, "utf8");
  const code = text.replace(REQUIRE, "");
  if (!/\brequire\b/.test(code)) writeFileSync(file, code);
}

/** Copies what runs of the native package, for this machine's system, to where `dist/*.mjs` finds it. */
function copyNative(outDir: string): void {
  const parts = [`${NATIVE}/{package.json,LICENSE.txt,index.js}`, `${NATIVE}/src/**/*.js`, "@koromix/*"];
  for (const part of globSync(parts, { cwd: `${root}node_modules` })) {
    cpSync(`${root}node_modules/${part}`, `${outDir}/node_modules/${part}`, { recursive: true, dereference: true });
  }
}

if (import.meta.main) {
  const outDir = `${root}dist`;
  const inputs = new Set([`node_modules/${NATIVE}/index.js`]);
  const named = process.argv.slice(2);
  const all = () => globSync("cmd/*/main.ts", { cwd: root }).map((main) => basename(dirname(main)));
  for (const name of named.length > 0 ? named : all().sort()) {
    const made = await bundle(name, outDir);
    for (const path of made.inputs) inputs.add(path);
    console.log(made.outfile);
  }
  copyNative(outDir);
  writeFileSync(`${outDir}/THIRD-PARTY-NOTICES`, thirdPartyNotices(root, inputs));
  if (named.length === 0) console.log(await buildSdk());
}
