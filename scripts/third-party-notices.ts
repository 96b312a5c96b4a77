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
/** A README's section with a licence's text, not just its name. */
const LICENSE_SECTION = /^#+ licen[cs]e\r?\n([^#]{200,})$/im;

/**
 * The licence texts of the packages whose files are among `inputs` (paths from `root`, as the bundler lists them), for
 * distribution beside the bundle.
 * @throws Error naming each package without a text
 */
export function thirdPartyNotices(root: string, inputs: Iterable<string>): string {
  const missing: string[] = [];
  const parts = foldersOf(inputs).map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
    const texts = licenceTexts(root, folder, name);
    if (texts.length === 0) missing.push(name);
    return [`${name} ${version} (${license})`, ...texts].join("\n\n");
  });
  if (missing.length > 0) throw new Error(`no licence text for ${missing.join(", ")}`);
  return `Licences of the packages in this bundle.\n\n${parts.join(`\n\n${"-".repeat(78)}\n\n`)}\n`;
}

function licenceTexts(root: string, folder: string, name: string): readonly string[] {
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  const files = readdirSync(join(root, folder)).sort();
  const own = files.filter((file) => LICENSE_FILE.test(file)).map((file) => read(`${folder}/${file}`));
  const known = (TEXTS[name] ?? []).map(read);
  const readmes = files.filter((file) => file.toLowerCase() === "readme.md");
  const sections = readmes.flatMap((file) => LICENSE_SECTION.exec(read(`${folder}/${file}`))?.[1] ?? []);
  const texts = [own, known, sections].find((some) => some.length > 0) ?? [];
  return texts.map((text) => text.trim());
}

/** The folders of the packages to which the files belong. */
function foldersOf(inputs: Iterable<string>): readonly string[] {
  const folders = [...inputs].flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  return [...new Set(folders)].sort();
}
