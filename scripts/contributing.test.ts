import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const read = (name: string): string => readFileSync(join(root, name), "utf8");

it("names every npm script", () => {
  const { scripts } = JSON.parse(read("package.json")) as { readonly scripts: Readonly<Record<string, string>> };
  const page = read("CONTRIBUTING.md");
  const named = (name: string) => page.includes(`\`npm ${name}`) || page.includes(`\`npm run ${name}`);
  expect(Object.keys(scripts).filter((name) => !named(name))).toEqual([]);
});

it("names only existing npm scripts", () => {
  const { scripts } = JSON.parse(read("package.json")) as { readonly scripts: Readonly<Record<string, string>> };
  const named = [...read("CONTRIBUTING.md").matchAll(/`npm run ([\w:]+)/g)].map(([, name = ""]) => name);
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
});

it.each([
  ["A nudge's text", 13],
  ["A byte of output", 10],
])("%s is followed through existing files, each named once, in at most %i steps", (title, most) => {
  const page = read("docs/architecture.md");
  const [way = ""] = page.slice(page.indexOf(`**${title}**`)).split(/\n\n(?!\d)/, 1);
  const files = [...way.matchAll(/`([a-z/-]+\/[a-z-]+)`/g)].map(([, path = ""]) => path);
  expect(files.filter((path) => !existsSync(join(root, "internal", `${path}.ts`)))).toEqual([]);
  expect(files).toEqual([...new Set(files)]);
  const steps = [...way.matchAll(/(?<![\w.])(\d+)\. /g)].map(([, step]) => Number(step));
  expect(Math.max(...steps)).toBe(most);
});
