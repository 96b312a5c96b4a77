// Makes one file per binary: dist/<binary>.mjs, for images and packages. Starts in less than half of the sources' time.
// What cannot be bundled lies beside them, in dist/node_modules, where Node looks for it.
import { cpSync, existsSync, globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build, stop } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Packages that are CommonJS ask for Node's own modules by `require`. */
const REQUIRE =
  'import { createRequire as gtCreateRequire } from "node:module"; const require = gtCreateRequire(import.meta.url);';

/** Holds machine code. Loaded by gt-sidecar only, and only where it is a container's first process. */
const NATIVE = "koffi";

/** Bundles `cmd/<binary>/main.ts`; answers with the file. */
export async function buildBinary(binary: string, outDir = `${root}dist`): Promise<string> {
  const outfile = `${outDir}/${binary}.mjs`;
  await build({
    entryPoints: [`${root}cmd/${binary}/main.ts`],
    outfile,
    bundle: true,
    platform: "node",
    target: "node24",
    format: "esm",
    minifySyntax: true,
    sourcemap: "linked",
    external: [NATIVE],
    banner: { js: REQUIRE },
    logLevel: "warning",
  });
  await stop(); // else a process of the bundler stays for the next build
  return outfile;
}

/** Copies what runs of the native package, for this machine's system, to where `dist/*.mjs` finds it. */
function copyNative(outDir = `${root}dist`): void {
  const parts = [`${NATIVE}/{package.json,LICENSE.txt,index.js}`, `${NATIVE}/src/**/*.js`, "@koromix/*"];
  for (const part of globSync(parts, { cwd: `${root}node_modules` })) {
    cpSync(`${root}node_modules/${part}`, `${outDir}/node_modules/${part}`, { recursive: true, dereference: true });
  }
}

if (import.meta.main) {
  const binaries = ["gt-sidecar", "gt", "demo-agent"].filter((name) => existsSync(`${root}cmd/${name}/main.ts`));
  for (const binary of binaries) console.log(await buildBinary(binary));
  copyNative();
}
