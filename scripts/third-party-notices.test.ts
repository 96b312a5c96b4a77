import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { thirdPartyNotices } from "./third-party-notices.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "gt-notices-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function addPackage(name: string, license: string, text?: string): string {
  const folder = join(root, "node_modules", name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, version: "1.2.3", license }));
  if (text !== undefined) writeFileSync(join(folder, "LICENSE.md"), text);
  return `node_modules/${name}/lib/index.js`;
}

it("has one entry per package, with the text that it ships", () => {
  const inputs = [addPackage("b", "MIT", "text of b\n"), addPackage("@s/a", "ISC", "text of a"), "cmd/gt/main.ts"];
  const text = thirdPartyNotices(root, [...inputs, "node_modules/b/other.js"]);
  expect(text.match(/^@?[\w/]+ 1\.2\.3 .*$/gm)).toEqual(["@s/a 1.2.3 (ISC)", "b 1.2.3 (MIT)"]);
  expect(text).toMatch(/text of a[\s\S]*text of b/);
});

it("refuses a package that has no licence text anywhere", () => {
  const inputs = [addPackage("with", "MIT", "text"), addPackage("without", "MIT")];
  expect(() => thirdPartyNotices(root, inputs)).toThrow("no licence text for without");
});

it("uses the licence at the end of a README if there is no other text", () => {
  const inputs = [addPackage("a", "MIT")];
  const readme = join(root, "node_modules/a/README.md");
  writeFileSync(readme, `# a\n\n## Use\n\nuse it\n\n## License\n\nCopyright (c) Ann\n\n${"granted ".repeat(30)}\n`);
  const text = thirdPartyNotices(root, inputs);
  expect(text).toMatch(/^a 1\.2\.3 \(MIT\)\n\nCopyright \(c\) Ann\n\ngranted/m);
  expect(text).not.toContain("use it");
  writeFileSync(readme, "# a\n\n## License\n\nMIT\n");
  expect(() => thirdPartyNotices(root, inputs)).toThrow("no licence text for a");
});
