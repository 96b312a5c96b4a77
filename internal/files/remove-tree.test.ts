import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { removeTree } from "./remove-tree.ts";

const NOBODY = 65534;

/** Makes this process an ordinary user until the end of the test: root may remove everything. */
function beOrdinaryUser(): void {
  if (process.getuid?.() !== 0) return;
  process.seteuid?.(NOBODY);
  onTestFinished(() => process.seteuid?.(0));
}

it("removes folders whose permissions were taken away", () => {
  beOrdinaryUser();
  const dir = mkdtempSync(join(tmpdir(), "gt-tree-"));
  mkdirSync(join(dir, "a/b/c"), { recursive: true });
  writeFileSync(join(dir, "a/b/file"), "");
  for (const folder of ["a/b", "a"]) chmodSync(join(dir, folder), 0);
  expect(() => rmSync(dir, { recursive: true })).toThrow("EACCES");
  removeTree(dir);
  expect(existsSync(dir)).toBe(false);
  removeTree(dir); // a missing entry
});

it("leaves alone what a link leads to", () => {
  beOrdinaryUser();
  const dir = mkdtempSync(join(tmpdir(), "gt-tree-"));
  const tree = join(dir, "tree");
  const other = join(dir, "other");
  mkdirSync(join(tree, "locked/deep"), { recursive: true });
  mkdirSync(other, { mode: 0o500 });
  symlinkSync(other, join(tree, "locked/link"));
  chmodSync(join(tree, "locked"), 0);
  removeTree(tree);
  expect(existsSync(tree)).toBe(false);
  expect(statSync(other).mode & 0o777).toBe(0o500);
  rmSync(dir, { recursive: true });
});
