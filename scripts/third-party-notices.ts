import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Licence texts for packages that ship none, as paths from the repository's top. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  "@bufbuild/protobuf": ["LICENSE", "scripts/licenses/protobuf.txt"],
  "@connectrpc/connect": ["LICENSE"],
  "@connectrpc/connect-node": ["LICENSE"],
  "@xterm/headless": ["scripts/licenses/xterm.txt"],
};
const LICENSE_FILE = /^((?:un)?licen[cs]e|notice|copying)/i;

/**
 * The licence texts of the packages whose files are among `inputs` (paths from `root`, as the bundler lists them), for
 * distribution beside the bundle.
 * @throws Error naming each package without a text
 */
export function thirdPartyNotices(root: string, inputs: Iterable<string>): string {
  const missing: string[] = [];
  const parts = foldersOf(inputs).map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
    const files = readdirSync(join(root, folder)).filter((file) => LICENSE_FILE.test(file));
    const paths = files.length > 0 ? files.sort().map((file) => `${folder}/${file}`) : (TEXTS[name] ?? []);
    if (paths.length === 0) missing.push(name);
    const texts = paths.map((path) => readFileSync(join(root, path), "utf8").trim());
    return [`${name} ${version} (${license})`, ...texts].join("\n\n");
  });
  if (missing.length > 0) throw new Error(`no licence text for ${missing.join(", ")}`);
  return `Licences of the packages in this bundle.\n\n${parts.join(`\n\n${"-".repeat(78)}\n\n`)}\n`;
}

/** The folders of the packages that the files belong to. */
function foldersOf(inputs: Iterable<string>): readonly string[] {
  const folders = [...inputs].flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  return [...new Set(folders)].sort();
}
