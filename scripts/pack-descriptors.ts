import { readFile } from "node:fs/promises";
import { brotliCompressSync, constants } from "node:zlib";
import type { Plugin } from "esbuild";

const RUNTIME = "packed-descriptors";

/**
 * Compresses the descriptors in generated code, which are unpacked when they are loaded: otherwise half of the SDK
 * would be base64.
 */
export const packDescriptors: Plugin = {
  name: RUNTIME,
  setup(build) {
    build.onLoad({ filter: /internal\/gen\/.*_pb\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const contents = source.replace(
        /fileDesc\(\s*"([^"]+)"/,
        (_, text: string) => `fileDesc(/*@__PURE__*/ unpacked("${packed(text)}")`,
      );
      if (contents === source) throw new Error(`no descriptor in ${path}`);
      return { contents: `import { unpacked } from "${RUNTIME}";\n${contents}`, loader: "ts" };
    });
    build.onResolve({ filter: new RegExp(`^${RUNTIME}$`) }, () => ({
      path: RUNTIME,
      namespace: RUNTIME,
      sideEffects: false,
    }));
    build.onLoad({ filter: /.*/, namespace: RUNTIME }, () => ({
      contents: `import { brotliDecompressSync } from "node:zlib";
export const unpacked = (text) => brotliDecompressSync(Buffer.from(text, "base64")).toString("base64");`,
    }));
  },
};

function packed(text: string): string {
  const bytes = Buffer.from(text, "base64");
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  return brotliCompressSync(bytes, { params }).toString("base64");
}
