import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const GT = import.meta.dirname;
/** The file that writes terminal modes itself. */
const WRITERS = ["threads/watch/live-watch.ts"];

it("lets commands print only through Output and notes, which clean their texts", () => {
  const sources = globSync("**/*.ts", { cwd: GT }).filter((path) => !path.endsWith(".test.ts"));
  expect(sources.length).toBeGreaterThan(50);
  const writing = sources.filter((path) =>
    /(?:stdout|stderr)\.write\(|writeSync\(|console\.|process\.std\w+\./.test(readFileSync(join(GT, path), "utf8")),
  );
  expect(writing.sort()).toEqual(WRITERS);
});
